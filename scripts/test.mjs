// `npm test`: runs every test, or with `npm test -- path …` only the files whose paths contain one of these texts.
// The tests run from the sources; what they start as a program of its own (the command line, the console's page) is
// built first, if it changed. The reporter closes with `N passed, N failed`.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { prepareServers } from "./test-servers.mjs";
import { prepareTools } from "./test-tools.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const args = process.argv.slice(2);
const paths = args.filter((arg) => !arg.startsWith("-"));
/** Where a browser opens the console; other tests do without its page. */
const opensConsole =
  paths.length === 0 || paths.some((at) => !/^(packages|test)\/(?!console|cli|guides)\w/.test(at));

function node(script, scriptArgs, env = process.env) {
  const run = spawnSync(process.execPath, [script, ...scriptArgs], { cwd: root, stdio: "inherit", env });
  return run.status ?? 1;
}

/**
 * Databases of tests live in memory where the system has a file system for that: thousands of gateways each wait for
 * the disk a dozen times as they start.
 */
function scratchFolder() {
  const memory = "/dev/shm";
  const parent = fs.existsSync(memory) && freeBytes(memory) > 2 ** 30 ? memory : os.tmpdir();
  const folder = fs.mkdtempSync(path.join(parent, "tendon-tests-"));
  // PostgreSQL refuses to run as root: its own user must be able to pass.
  fs.chmodSync(folder, 0o711);
  return folder;
}

function freeBytes(folder) {
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize;
}

const prepare = path.join(root, "scripts", "prepare.mjs");
if (node(prepare, opensConsole ? [] : ["--no-console"]) !== 0) process.exit(1);
if (!prepareServers() || !prepareTools()) process.exit(1);
const scratch = scratchFolder();
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
const status = node(vitest, ["run", ...args], { ...process.env, TMPDIR: scratch });
fs.rmSync(scratch, { recursive: true, force: true });
process.exit(status);
