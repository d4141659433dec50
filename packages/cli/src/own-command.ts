/** How a reader types this command. Outside a checkout or an installation, `npx tendon` would run another package. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));

/** `npx tendon` in a folder where npx finds this command, `tendon` where it is on the PATH, else the file itself. */
export function ownCommand(cwd = process.cwd(), { PATH = "" } = process.env): string {
  const above = path.resolve(cwd).split(path.sep);
  const folders = above.map((_, index) => above.slice(0, index + 1).join(path.sep) || path.sep);
  if (folders.some((folder) => isOwn(path.join(folder, "node_modules", ".bin", "tendon"))))
    return "npx tendon";
  if (PATH.split(path.delimiter).some((folder) => isOwn(path.join(folder, "tendon")))) return "tendon";
  return `node ${bin}`;
}

/** The same for pages that others read too: without a path of this machine. */
export function shownCommand(): string {
  const own = ownCommand();
  return own.startsWith("node ") ? "tendon" : own;
}

function isOwn(file: string): boolean {
  try {
    // On Windows the file is a script that starts the command.
    return process.platform === "win32"
      ? fs.existsSync(file)
      : fs.realpathSync(file) === fs.realpathSync(bin);
  } catch {
    return false;
  }
}
