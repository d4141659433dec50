import fs from "node:fs";

/** The program that listens on a port, as `name (process 123)`; `undefined` where the system does not show it. */
export function ownerOf(port: number): string | undefined {
  try {
    const sockets = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) => listening(table, port)));
    if (sockets.size === 0) return undefined;
    for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      if (!holds(pid, sockets)) continue;
      return `${fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim()} (process ${pid})`;
    }
  } catch {
    // Not Linux, or the system hides other users' processes.
  }
  return undefined;
}

/** The sockets that listen on the port, as named in /proc. */
function listening(table: string, port: number): string[] {
  if (!fs.existsSync(table)) return [];
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return fs
    .readFileSync(table, "utf8")
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => local.endsWith(`:${hex}`) && state === "0A")
    .map((fields) => `socket:[${fields[9]}]`);
}

function holds(pid: string, sockets: ReadonlySet<string>): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return fs.readdirSync(folder).some((name) => sockets.has(fs.readlinkSync(`${folder}/${name}`)));
  } catch {
    return false;
  }
}
