// Everything that can be said about the code without running the product, each step named and timed.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const bin = (name) => path.join(root, "node_modules", ".bin", name);
const steps = [
  ["types", bin("tsc"), ["-b"]],
  ["format and lint", bin("biome"), ["check", "--error-on-warnings", "."]],
  ["typed lint", bin("oxlint"), ["--quiet", "."]],
  ["dead code", bin("knip"), []],
  [
    "boundaries",
    bin("vitest"),
    ["run", "--project", "system", "--reporter", "dot", "test/boundaries.test.ts"],
  ],
];

let failed = 0;
for (const [name, command, args] of steps) {
  const started = Date.now();
  const done = spawnSync(command, args, { cwd: root, encoding: "utf8", shell: process.platform === "win32" });
  const ok = done.status === 0;
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (!ok) {
    failed += 1;
    process.stdout.write(`${done.stdout ?? ""}${done.stderr ?? ""}${done.error ?? ""}\n`);
  }
}
process.exit(failed === 0 ? 0 : 1);
