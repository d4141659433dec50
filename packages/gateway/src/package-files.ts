/**
 * Finds files that packages ship beside their code, by the package's location. The location of this file differs between
 * the sources, the compiled package and the bundled command.
 */
import { createRequire } from "node:module";
import path from "node:path";

const here = createRequire(import.meta.url);
const ownPackage = here.resolve("@tendon/gateway/package.json");

/** The console's page, which `npm run build` writes. */
export const consoleFolder = path.join(path.dirname(ownPackage), "dist", "console");

/** The folder of a package that the gateway depends on. */
export function packageFolder(name: string): string {
  return path.dirname(createRequire(ownPackage).resolve(`${name}/package.json`));
}
