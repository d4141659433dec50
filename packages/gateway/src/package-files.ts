/**
 * Finds files that packages ship beside their code. By the package and not by this file's own place, which differs
 * between the sources, the compiled package and the bundled command.
 */
import { createRequire } from "node:module";
import path from "node:path";

const here = createRequire(import.meta.url);
const ownPackage = here.resolve("@tendon/gateway/package.json");

/** The console's page, as `npm run build` leaves it. */
export const consoleFolder = path.join(path.dirname(ownPackage), "dist", "console");

/** The folder of a package that the gateway depends on. */
export function packageFolder(name: string): string {
  return path.dirname(createRequire(ownPackage).resolve(`${name}/package.json`));
}
