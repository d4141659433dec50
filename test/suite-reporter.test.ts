/** People and CI read the last lines of `npm test`. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";

const root = path.resolve(import.meta.dirname, "..");

it("a run shows the output of tests, failures and reasons for skipping, and ends with the counts", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-reporter-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "sample.test.js");
  const lines = [
    'it("prints", () => console.log("a word from a test"));',
    'it("fails", () => expect(1).toBe(2));',
    'it("waits", (context) => context.skip("no board here"));',
  ];
  fs.writeFileSync(file, lines.join("\n"));
  const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
  const reporter = path.join(root, "scripts", "suite-reporter.mjs");
  const { stdout, status } = spawnSync(
    process.execPath,
    [vitest, "run", "--root", folder, "--globals", "--reporter", reporter],
    { encoding: "utf8" },
  );
  expect(status).toBe(1);
  expect(stdout).toContain("a word from a test\n");
  expect(stdout).toContain("skipped: waits: no board here");
  expect(stdout).toMatch(/failed: fails\n[\s\S]*expected 1 to be 2/);
  expect(stdout).toMatch(/all suites: \d+ s\n\n1 passed, 1 failed, 1 skipped\n$/);
});
