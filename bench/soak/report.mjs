const nameWidth = 44;

function line(name, value) {
  console.log(`${name.padEnd(nameWidth)}${value}`);
}

function figures({ rssMb, heapMb, externalMb, descriptors }) {
  const mb = (value) => (value === undefined ? "?" : value.toFixed(1)).padStart(8);
  return `${mb(rssMb)} MB${mb(heapMb)} MB${mb(externalMb)} MB${String(descriptors ?? "?").padStart(8)}`;
}

function trend(name, value, bound) {
  if (value === undefined) return;
  line(`  ${name}`, `${value.toFixed(3).padStart(8)}${bound === undefined ? "" : `   bound ${bound}`}`);
}

export function printReport(report) {
  const { memory, fits, bounds } = report;
  console.log("");
  line("seed", report.seed);
  line(
    "time",
    `${(report.seconds / 60).toFixed(1)} min, ${report.checks} checks, ${report.restarts} restarts`,
  );
  line("calls", report.calls);
  for (const [title, counts] of [
    ["outcomes", report.outcomes],
    ["interfaces", report.interfaces],
    ["disturbances", report.disturbances],
  ]) {
    console.log(title);
    for (const [name, count] of Object.entries(counts)) line(`  ${name}`, count);
  }
  const { lossMs } = report;
  if (lossMs.count > 0)
    line(
      "lost connection to error, ms",
      `p50 ${lossMs.p50.toFixed(1)}, p99 ${lossMs.p99.toFixed(1)}, most ${lossMs.most.toFixed(1)} (${lossMs.count})`,
    );
  line("memory and descriptors", "     RSS       heap   external   descriptors");
  line("  at the start", figures(memory.start));
  line("  at the end of the traffic", figures(memory.end));
  line("  after everything hung up", figures(memory.hungUp));
  line("  CPU time of the gateway", `${memory.end.cpuSeconds.toFixed(1)} s`);
  if (fits === undefined) console.log("no trend: the run was too short, or the gateway was restarted");
  else {
    const judged = report.judged ? "" : "; not judged in runs of less than an hour";
    console.log(`trend of the second half (${fits.collections} full collections), a minute${judged}`);
    trend("RSS, MB", fits.rssMb);
    trend("RSS after collections, MB", fits.rssFloorMb, bounds.rssMbPerMinute);
    trend("heap, MB", fits.heapMb);
    trend("heap after collections, MB", fits.heapFloorMb, bounds.heapMbPerMinute);
    trend("descriptors", fits.descriptors, bounds.descriptorsPerMinute);
  }
  if (report.violationCount === 0) console.log("everything held");
  else console.log(`${report.violationCount} violations; the first: ${report.violations[0]}`);
}
