const nameWidth = 48;

export function headLine() {
  const heads = ["calls/s", "p50 ms", "p99 ms", "CPU ms"];
  return `${"".padEnd(nameWidth)}${heads.map((head) => head.padStart(10)).join("")}`;
}

export function rowLine(name, { perSecond, p50, p99, cpuMsEach }) {
  const cells = [Math.round(perSecond).toString(), p50.toFixed(2), p99.toFixed(2), cpuMsEach.toFixed(4)];
  return `${name.padEnd(nameWidth)}${cells.map((cell) => cell.padStart(10)).join("")}`;
}
