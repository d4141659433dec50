// Everything that can be said about the code without running the product. All steps run at once; each is named and
// timed, and one that fails prints what its tool found: the file, the line and the rule.
import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const bin = (name) => path.join(root, "node_modules", ".bin", name);
const steps = [
  ["types", bin("tsc"), ["-b"]],
  ["format and lint", bin("biome"), ["check", "--error-on-warnings", "."]],
  ["typed lint", bin("oxlint"), ["--quiet", "."]],
  ["dead code", bin("knip"), []],
  ["boundaries", bin("vitest"), ["run", "--reporter", "dot", "test/boundaries.test.ts"]],
];

async function run([name, command, args]) {
  const started = Date.now();
  let output = "";
  const status = await new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, shell: process.platform === "win32" });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.once("error", (error) => {
      output += error;
      resolve(1);
    });
    child.once("close", resolve);
  });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (status !== 0) process.stdout.write(`${output}\n`);
  return status === 0;
}

const passed = await Promise.all(steps.map(run));
process.exit(passed.every(Boolean) ? 0 : 1);
