import fs from "node:fs";
import path from "node:path";
import { type Finding, failed, fine, warning } from "./finding.ts";

const minFreeBytes = 200 * 1024 * 1024;
const secrets = ["admin-token", "mcp-token", "device-secret", "tendon.db"];

/** Checks that the data folder is writable and its secrets are private. */
export function checkDataFolder(folder: string): Finding[] {
  const check = "data folder";
  const full = path.resolve(folder);
  // If the folder does not exist yet, its nearest existing parent must be writable.
  let nearest = full;
  while (!fs.existsSync(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  const trouble = (message: string) =>
    failed(check, {
      message,
      why: "the gateway keeps devices, tokens and the history there, and does not start without it",
      todo: "choose another folder with --data, or give this user write permission",
    });
  try {
    if (!fs.statSync(nearest).isDirectory()) return [trouble(`${nearest} is a file, not a folder`)];
    fs.accessSync(nearest, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    tryToWrite(nearest);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    return [trouble(`${nearest} is not writable${code}`)];
  }
  const found = [fine(check, nearest === full ? full : `${full}, created at the first start`)];
  return [...found, ...checkSpace(nearest), ...checkModes(full)];
}

/** Permissions are not enough: the disk may be full or mounted read-only. */
function tryToWrite(folder: string): void {
  const file = path.join(folder, `.doctor-${process.pid}`);
  fs.writeFileSync(file, "", { flag: "wx" });
  fs.rmSync(file, { force: true });
}

function checkSpace(folder: string): Finding[] {
  const { bavail, bsize } = fs.statfsSync(folder);
  const free = bavail * bsize;
  if (free >= minFreeBytes) return [];
  return [
    warning("disk", {
      message: `only ${Math.floor(free / 1024 / 1024)} MB are free on the disk of the data folder`,
      why: "on a full disk, new devices and tokens cannot be saved",
      todo: "free some space, or lower calls.keepCount and vision.keepBytes",
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
      message: `other users of this machine can read ${open.join(", ")}`,
      why: "anyone with these files has full access to the gateway",
      todo: `chmod 600 ${open.map((name) => path.join(folder, name)).join(" ")}`,
    }),
  ];
}
