import fs from "node:fs";
import os from "node:os";

/** What a reader has to know about the machine to judge absolute figures. */
export function describeMachine() {
  const processors = os.cpus();
  return {
    processor: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()}`,
    node: process.version,
    load: Number(os.loadavg()[0].toFixed(2)),
    descriptors: descriptorLimit(),
  };
}

/** How many files a process may open, which is how many devices it can hold. Node has raised it as far as it may. */
function descriptorLimit() {
  try {
    const limits = fs.readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1_024);
  } catch {
    return 1_024;
  }
}

/** Files that a gateway needs beside its devices: storage, listeners, callers. */
const otherDescriptors = 500;

/** As many of the wanted devices as the limit of open files lets one process hold. */
export function affordable(wanted) {
  return Math.min(wanted, descriptorLimit() - otherDescriptors);
}
