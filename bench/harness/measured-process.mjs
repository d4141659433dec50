// What a process costs, read from outside: it is measured as it is shipped. Linux only; elsewhere the figures are NaN.
import fs from "node:fs";

const tickMs = 10;

/** Processor time of all threads that live, in nanoseconds' resolution. */
export function cpuOfMs(pid) {
  try {
    const folder = `/proc/${pid}/task`;
    return fs
      .readdirSync(folder)
      .reduce(
        (all, thread) =>
          all + Number(fs.readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6,
        0,
      );
  } catch {
    return Number.NaN;
  }
}

export function rssOfMb(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

/** Processor time of this process's children that have ended. */
export function endedChildrenMs() {
  try {
    const stat = fs.readFileSync("/proc/self/stat", "utf8");
    const words = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(words[13]) + Number(words[14])) * tickMs;
  } catch {
    return Number.NaN;
  }
}

/** How often a connection found the queue of a listening socket full, on the whole machine. */
export function listenOverflows() {
  try {
    const [names, numbers] = fs
      .readFileSync("/proc/net/netstat", "utf8")
      .split("\n")
      .filter((line) => line.startsWith("TcpExt:"))
      .map((line) => line.split(" "));
    return Number(numbers[names.indexOf("ListenOverflows")]);
  } catch {
    return Number.NaN;
  }
}
