import fs from "node:fs";
import path from "node:path";
import { type Finding, failed, fine, warning } from "./finding.ts";

const littleSpaceBytes = 200 * 1024 * 1024;
const secrets = ["admin-token", "mcp-token", "device-secret", "tendon.db"];

/** Whether what must survive a restart can be written, and stays with its owner. */
export function checkDataFolder(folder: string): Finding[] {
  const check = "data folder";
  const full = path.resolve(folder);
  // The folder may not exist yet: then the nearest one above it has to let us make it.
  let nearest = full;
  while (!fs.existsSync(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  const trouble = (message: string) =>
    failed(check, {
      message,
      why: "devices, tokens and the history are kept there; without it the gateway does not start",
      todo: "choose another with --data, or let this user write there",
    });
  try {
    if (!fs.statSync(nearest).isDirectory()) return [trouble(`${nearest} is a file, not a folder`)];
    fs.accessSync(nearest, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    tryToWrite(nearest);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    return [trouble(`${nearest} cannot be written to${code}`)];
  }
  const found = [fine(check, nearest === full ? full : `${full}, made at the first start`)];
  return [...found, ...checkSpace(nearest), ...checkModes(full)];
}

/** Rights alone do not tell: the disk may be full, or mounted to be read only. */
function tryToWrite(folder: string): void {
  const file = path.join(folder, `.doctor-${process.pid}`);
  fs.writeFileSync(file, "", { flag: "wx" });
  fs.rmSync(file, { force: true });
}

function checkSpace(folder: string): Finding[] {
  const { bavail, bsize } = fs.statfsSync(folder);
  const free = bavail * bsize;
  if (free >= littleSpaceBytes) return [];
  return [
    warning("disk", {
      message: `${Math.floor(free / 1024 / 1024)} MB are left where the data folder is`,
      why: "a full disk keeps new devices and tokens from being written down",
      todo: "make room, or lower calls.keepCount and vision.keepBytes",
    }),
  ];
}

function checkModes(folder: string): Finding[] {
  const open = secrets.filter((name) => {
    const file = path.join(folder, name);
    return fs.existsSync(file) && (fs.statSync(file).mode & 0o077) !== 0;
  });
  if (open.length === 0 || process.platform === "win32") return [];
  return [
    warning("secrets", {
      message: `${open.join(", ")} can be read by others on this machine`,
      why: "whoever has them can do what you can",
      todo: `chmod 600 ${open.map((name) => path.join(folder, name)).join(" ")}`,
    }),
  ];
}
