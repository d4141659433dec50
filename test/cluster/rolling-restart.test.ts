/** The first row of the fault table, with the repository's own balancer file: `npm run faults` has all rows. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("../../bench/faults/run.mjs", import.meta.url));

interface Row {
  readonly name: string;
  readonly plainTotal: number;
  readonly plainFailed: number;
  readonly plainCodes: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  readonly never: number;
  readonly refusals: number;
  readonly twice: number;
  readonly notRun: number;
}

async function faults(args: readonly string[]): Promise<{ readonly output: string; readonly rows: Row[] }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-faults-test-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "rows.json");
  const child = spawn(process.execPath, [program, ...args, "--json", file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  await once(child, "close");
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "[]";
  return { output, rows: JSON.parse(text) as Row[] };
}

it("fails few calls, only of boards on the way, refuses no board, and no key waits for long", async () => {
  const { output, rows } = await faults([
    "--only",
    "rolling",
    "--boards",
    "45",
    "--rate",
    "40",
    "--minutes",
    "0",
  ]);
  const [row] = rows;
  if (row === undefined) throw new TypeError(output);
  expect([row.twice, row.notRun, row.never], output).toEqual([0, 0, 0]);
  expect(row.plainTotal).toBeGreaterThan(300);
  expect(
    Object.keys(row.plainCodes).filter((code) => code !== "device_offline"),
    output,
  ).toEqual([]);
  // How long a board is on the way depends on the machine. The table has the targets, 1 % and 5 s; before boards were
  // sent away in groups it was 15 % and 32 s.
  expect(row.plainFailed / row.plainTotal, output).toBeLessThanOrEqual(0.07);
  expect(row.slowestMs, output).toBeLessThanOrEqual(15_000);
  expect(row.refusals, output).toBe(0);
}, 180_000);
