// Whether a run can be trusted: how far the rounds lie apart, and what else the machine did meanwhile.
import fs from "node:fs";

/** The middle half of the rounds may lie this far apart. */
const spreadBound = 0.25;
/** Other processes may take this share of all processors. They lengthen times; processor time and memory much less. */
const foreignBounds = { wall: 0.15, cpu: 0.5 };

const tickMs = 10;

/** Why the row cannot be trusted, or `undefined`. */
export function noiseOf({ value, baseline, ratio, foreign, clock = "wall" }) {
  const reasons = [];
  if (baseline !== undefined && baseline.spread > spreadBound)
    reasons.push(`the baseline varies by ${percent(baseline.spread)}`);
  const own = ratio ?? value;
  if (own.spread > spreadBound)
    reasons.push(`the ${ratio === undefined ? "value" : "ratio"} varies by ${percent(own.spread)}`);
  if (foreign !== undefined && foreign > foreignBounds[clock])
    reasons.push(`other processes took ${percent(foreign)} of the processors`);
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

/** One line about the run. */
export function verdict(rows) {
  if (rows.length === 0) return "No row was measured.";
  const noisy = rows.filter(({ noise }) => noise !== undefined);
  if (noisy.length === 0) return "The run was calm: no row varied beyond the bounds.";
  const share = noisy.length / rows.length;
  const names = noisy.map(({ name }) => name).join(", ");
  return share > 0.5
    ? `TOO NOISY TO TRUST: ${noisy.length} of ${rows.length} rows. Run it again on a calm machine.`
    : `${noisy.length} of ${rows.length} rows are noisy, do not trust them: ${names}.`;
}

/** Processor time of the machine and of this process with the children that have ended. `undefined` off Linux. */
export function machineTime() {
  if (process.platform !== "linux") return undefined;
  const line = fs.readFileSync("/proc/stat", "utf8").split("\n", 1)[0];
  const [user, nice, system, idle, wait, irq, softirq, steal] = line.split(/\s+/).slice(1).map(Number);
  const busy = user + nice + system + irq + softirq + steal;
  const stat = fs.readFileSync("/proc/self/stat", "utf8");
  const words = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const own = [11, 12, 13, 14].reduce((all, at) => all + Number(words[at]), 0);
  return { busyMs: busy * tickMs, allMs: (busy + idle + wait) * tickMs, ownMs: own * tickMs };
}

/** The share of all processors that others took between the two readings. Children count when they have ended. */
export function foreignShare(before, after) {
  if (before === undefined || after === undefined) return undefined;
  const all = after.allMs - before.allMs;
  const others = after.busyMs - before.busyMs - (after.ownMs - before.ownMs);
  return all <= 0 ? undefined : Math.max(0, others / all);
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}
