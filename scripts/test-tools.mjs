// Programs that test the gateway from outside: the MCP conformance suite, the Inspector, the older SDK, the official
// everything server. They want other versions of things than the gateway does (the suite even another Node), so they live
// in a folder of their own, test/tools, with a lockfile of its own. Installed when that changes; costs nothing otherwise.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const folder = path.join(root, "test", "tools");
const stamp = path.join(folder, "node_modules", ".tendon-stamp");

/** Makes sure that the tools are there; says so if they are not. */
export function prepareTools() {
  const key = createHash("sha256")
    .update(process.version)
    .update(process.platform + process.arch)
    .update(fs.readFileSync(path.join(folder, "package.json")))
    .update(fs.readFileSync(path.join(folder, "package-lock.json")))
    .digest("hex");
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, "utf8") === key) return true;
  console.error("Installing the conformance suite and the Inspector for the tests …");
  const started = performance.now();
  // Written where a registry lacked another platform's packages, a lockfile makes `npm ci` refuse.
  if (!npm("ci") && !npm("install", "--no-save")) {
    console.error("The tests need the packages of test/tools: npm ci --ignore-scripts --prefix test/tools");
    return false;
  }
  fs.writeFileSync(stamp, key);
  console.error(`  done in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return true;
}

function npm(...args) {
  const done = spawnSync(
    "npm",
    [...args, "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"],
    {
      cwd: folder,
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
    },
  );
  return done.status === 0;
}
