// Compiles every package and builds the console; the tests' types are checked by `npm run check`, not here.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const bin = (...at) => path.join(root, "node_modules", ...at);

function run(program, args, cwd = root) {
  const done = spawnSync(process.execPath, [program, ...args], { cwd, stdio: ["ignore", 2, 2] });
  if (done.status !== 0) process.exit(done.status ?? 1);
}

// `node scripts/build.mjs [packages|console]`: one part, or both.
const parts = process.argv.slice(2);
const wants = (part) => parts.length === 0 || parts.includes(part);
if (wants("packages")) run(bin("typescript", "bin", "tsc"), ["-b", "packages/cli"]);
// The page goes into the gateway's dist, where `serve` finds it.
if (wants("console")) run(bin("vite", "bin", "vite.js"), ["build"], path.join(root, "packages", "console"));
