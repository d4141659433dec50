// `npm test`: runs every suite, or those whose paths are named. The reporter closes with `N passed, N failed`.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { prepareServers } from "./test-servers.mjs";
import { prepareTools } from "./test-tools.mjs";

if (!prepareServers() || !prepareTools()) process.exit(1);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
const done = spawnSync(process.execPath, [vitest, "run", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
process.exit(done.status ?? 1);
