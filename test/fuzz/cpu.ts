import fs from "node:fs";

/** The CPU time of the main thread, in milliseconds, without its collector's helpers and without other processes. */
export const threadCpuMs: () => number = openThreadClock() ?? processCpuMs;

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Linux counts each thread. */
function openThreadClock(): (() => number) | undefined {
  try {
    const file = fs.openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
    const text = Buffer.alloc(64);
    const read = () =>
      Number(text.toString("latin1", 0, fs.readSync(file, text, 0, 64, 0)).split(" ")[0]) / 1e6;
    return Number.isFinite(read()) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** The heap after a full collection, in bytes. Without `--expose-gc`, undefined. */
export function heapAfterCollection(): number | undefined {
  const { gc } = globalThis;
  if (gc === undefined) return undefined;
  // Twice: the first collection runs finalizers, which release more.
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
