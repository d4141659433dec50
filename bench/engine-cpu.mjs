import fs from "node:fs";

const ticksMs = 10;

/** Processor time of a process and its children so far. Only Linux tells of processes that are not Node; else 0. */
export function cpuOfTreeMs(pid) {
  if (process.platform !== "linux") return 0;
  let ticks = 0;
  for (const name of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = fs.readFileSync(`/proc/${name}/stat`, "utf8");
      // The second word is the program's name and may have spaces; what follows it may not.
      const words = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(name) === pid || Number(words[1]) === pid) ticks += Number(words[11]) + Number(words[12]);
    } catch {
      // It has just ended.
    }
  }
  return ticks * ticksMs;
}
