// Compiles every package; the tests' types are checked by `npm run check`, not here.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
const done = spawnSync(process.execPath, [tsc, "-b", "packages/cli"], { cwd: root, stdio: ["ignore", 2, 2] });
process.exit(done.status ?? 1);
