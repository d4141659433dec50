/**
 * Finds files that packages ship beside their code. The location of this file differs between the sources, the compiled
 * package and the bundled command.
 */
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Only the packaged command has this folder (scripts/package.mjs): it carries these files instead of our packages. */
const assets = fileURLToPath(new URL("../assets", import.meta.url));
const isPackaged = fs.existsSync(assets);

/** The console's page, which `npm run build` writes. */
export const consoleFolder = isPackaged
  ? path.join(assets, "console")
  : path.join(path.dirname(ownPackage()), "dist", "console");

/** The folder of a package that the gateway depends on. */
export function packageFolder(name: string): string {
  if (isPackaged) return path.join(assets, name);
  return path.dirname(createRequire(ownPackage()).resolve(`${name}/package.json`));
}

function ownPackage(): string {
  return createRequire(import.meta.url).resolve("@tendon/gateway/package.json");
}
