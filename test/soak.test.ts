/** A short run of `npm run soak`: mixed traffic, churn and faults, and what must hold then. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("../bench/soak/run.mjs", import.meta.url));

interface Report {
  readonly calls: number;
  readonly restarts: number;
  readonly checks: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly interfaces: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
  readonly memory: { readonly rssMostMb: number };
}

interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly report: Report;
}

async function soak(args: readonly string[]): Promise<Finished> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-soak-test-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "report.json");
  const child = spawn(process.execPath, [program, ...args, "--json", file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const [code] = (await once(child, "close")) as [number | null];
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "{}";
  return { code, output, report: JSON.parse(text) as Report };
}

it("loses no call, runs none twice and frees what it opened, also after kill -9", async () => {
  const { code, output, report } = await soak([
    ...["--minutes", "0.15", "--devices", "16", "--rate", "25"],
    ...["--restarts", "0.08"],
  ]);
  expect(report.violations, output).toEqual([]);
  expect(code, output).toBe(0);
  expect(report.restarts).toBe(1);
  expect(report.checks).toBe(1);
  expect(report.outcomes["ok"]).toBeGreaterThan(20);
  expect(Object.keys(report.interfaces).sort()).toEqual([
    "MCP 2025-11-25",
    "MCP 2026-07-28",
    "MQTT",
    "REST",
    "REST, hung up",
    "REST, repeated with one key",
  ]);
  expect(report.memory.rssMostMb).toBeLessThan(400);
});
