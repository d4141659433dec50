// `npm run faults -- --minutes N`: what faults of three nodes cost their callers. The table of
// docs/operations/reliability.md is written by it.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { prepareServers } from "./test-servers.mjs";

if (!prepareServers()) process.exit(1);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const args = process.argv.slice(2);
// A part of the table does not replace the whole one.
const whole = !args.some((arg) => /^--(only|help|write)/.test(arg));
const run = path.join(root, "bench", "faults", "run.mjs");
const { status } = spawnSync(process.execPath, [run, ...args, ...(whole ? ["--write"] : [])], {
  stdio: "inherit",
});
process.exit(status ?? 1);
