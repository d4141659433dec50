/** The parts of `npm run bench` that judge and print. What it measures depends on the machine and is not tested. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
// @ts-expect-error: the bench is plain JavaScript.
import { readArguments } from "../bench/harness/arguments.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { compareReports, comparisonLines, differenceOf } from "../bench/harness/compare.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { bar, notesOf, performancePage } from "../bench/harness/markdown.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { foreignShare, verdict } from "../bench/harness/noise.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { alternate } from "../bench/harness/rounds.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { figure, judge, makeRow, targetText } from "../bench/harness/rows.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { median, percentile, summarise } from "../bench/harness/statistics.mjs";
// @ts-expect-error: the bench is plain JavaScript.
import { tableLines } from "../bench/harness/terminal.mjs";

const program = fileURLToPath(new URL("../bench/run.mjs", import.meta.url));
const ratioTarget = { ratioMost: 1.5 };

function rowOf(more: object = {}, measured: object = {}, foreign = 0): Record<string, unknown> {
  const definition = {
    name: "calls",
    title: "CPU a call",
    unit: "ms",
    better: "less",
    target: ratioTarget,
    baseline: "bare",
  };
  const figures = { values: [3, 2.8, 3.1], baselines: [2, 2, 2] };
  return makeRow("group", { ...definition, ...more }, { ...figures, ...measured }, foreign) as never;
}

async function bench(...args: readonly string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const [status] = (await once(child, "close")) as [number | null];
  return { status, output };
}

describe("statistics", () => {
  it("take the middle of the rounds", () => {
    expect(median([9, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
  });

  it("take a percentile that was measured", () => {
    const numbers = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(numbers, 0.99)).toBe(100);
    expect(percentile(numbers, 0.5)).toBe(51);
    expect(percentile([], 0.5)).toBe(0);
  });

  it("measure the spread by the middle half, so that one outlier does not count", () => {
    expect(summarise([10, 10, 10, 10, 90])).toMatchObject({ median: 10, low: 10, high: 90, spread: 0 });
    expect(summarise([8, 9, 10, 11, 12]).spread).toBeCloseTo(0.2);
  });
});

describe("a row", () => {
  it("has the ratio of each round, and meets a bound of it", () => {
    expect(rowOf()).toMatchObject({ met: true, noise: undefined, ratio: { median: 1.5, rounds: 3 } });
    expect(rowOf({ target: { ratioMost: 1.4 } })).toMatchObject({ met: false });
  });

  it.each([
    [{ most: 3 }, true],
    [{ most: 2.9 }, false],
    [{ least: 3 }, true],
    [{ least: 3.1 }, false],
    [{ ratioLeast: 1.5 }, true],
    [{ ratioLeast: 1.6 }, false],
    [undefined, undefined],
  ])("with the target %j is met: %s", (target, met) => {
    expect(rowOf({ target }).met).toBe(met);
  });

  it("is noisy if the baseline or the ratio varies, or if other processes were busy", () => {
    expect(rowOf({}, { baselines: [1, 2, 4] }).noise).toContain("the baseline varies by");
    expect(rowOf({}, { values: [2, 3, 6] }).noise).toContain("the ratio varies by");
    expect(rowOf({}, {}, 0.4).noise).toBe("other processes took 40 % of the processors");
    expect(rowOf({ clock: "cpu" }, {}, 0.4).noise).toBeUndefined();
    expect(rowOf({ clock: "cpu" }, {}, 0.6).noise).toBe("other processes took 60 % of the processors");
  });

  it("is judged again by newer bounds", () => {
    expect(judge(rowOf(), { target: { most: 1 } })).toMatchObject({ met: false, target: { most: 1 } });
  });

  it("names the number of devices that were there", () => {
    expect(rowOf({ title: "storm of 5,000 new" }, { count: 1_500 }).title).toBe("storm of 1,500 new");
    expect(rowOf({ title: "storm of 5,000 new" }).title).toBe("storm of 5,000 new");
  });

  it("says its target and figures in words", () => {
    expect(targetText(rowOf())).toBe("≤ 1.5 ×");
    expect(targetText(rowOf({ target: { least: 22_788 }, unit: "/s" }))).toBe("≥ 22,788 /s");
    expect([0, 0.04321, 1.5, 12.345, 123.4, 19_500, Number.NaN].map((number) => figure(number))).toEqual([
      "0",
      "0.0432",
      "1.5",
      "12.3",
      "123",
      "19,500",
      "?",
    ]);
  });
});

describe("the verdict", () => {
  it("names noisy rows, and distrusts a run with more than half of them", () => {
    const [calm, noisy] = [rowOf(), rowOf({ name: "storm" }, {}, 0.5)];
    expect(verdict([calm])).toContain("calm");
    expect(verdict([])).toBe("No row was measured.");
    expect(verdict([calm, calm, noisy])).toBe("1 of 3 rows are noisy, do not trust them: storm.");
    expect(verdict([calm, noisy, noisy])).toContain("TOO NOISY TO TRUST");
  });

  it("counts the processor time that was not the bench's own", () => {
    const before = { busyMs: 1_000, allMs: 4_000, ownMs: 100 };
    const after = { busyMs: 2_000, allMs: 6_000, ownMs: 700 };
    expect(foreignShare(before, after)).toBeCloseTo(0.2);
    expect(foreignShare(undefined, after)).toBeUndefined();
  });
});

it("measures the sides turn and turn about after a warm-up", async () => {
  const turns: string[] = [];
  const side = (name: string) => () => {
    turns.push(name);
    return Promise.resolve(turns.length);
  };
  const results = await alternate({ ours: side("ours"), bare: side("bare") }, { rounds: 2 });
  expect(turns).toEqual(["ours", "bare", "ours", "bare", "bare", "ours"]);
  expect(results).toEqual({ ours: [3, 6], bare: [4, 5] });
});

describe("a comparison", () => {
  const reportOf = (values: readonly number[], more: object = {}) => ({ rows: [rowOf(more, { values })] });

  it("compares ratios and marks changes beyond the noise of both runs", () => {
    const old = reportOf([3, 3, 3]);
    expect(compareReports(old, reportOf([2, 2, 2]))).toMatchObject([{ factor: 2 / 3, change: "better" }]);
    expect(compareReports(old, reportOf([4, 4, 4]))).toMatchObject([{ change: "worse" }]);
    expect(compareReports(old, reportOf([2.9, 2.9, 2.9]))).toMatchObject([{ change: "same" }]);
    expect(compareReports(old, reportOf([1.5, 2.5, 3.5]))).toMatchObject([{ change: "same" }]);
  });

  it("knows which way is better", () => {
    const rate = { better: "more", target: undefined };
    expect(compareReports(reportOf([2, 2, 2], rate), reportOf([3, 3, 3], rate))).toMatchObject([
      { change: "better" },
    ]);
  });

  it("warns if the runs or the machines differ", () => {
    const machine = { processor: "2 × test", node: "v20" };
    const full = { scale: "full", machine };
    expect(differenceOf(full, full)).toBeUndefined();
    expect(differenceOf({ ...full, scale: "quick" }, { ...full, machine: { ...machine, node: "v22" } })).toBe(
      "Compare with care: one run is quick, the other full; node v20 and v22.",
    );
  });

  it("leaves out rows that one report does not have", () => {
    const lines = comparisonLines(compareReports({ rows: [] }, reportOf([1, 1, 1]))) as string[];
    expect(lines).toHaveLength(1);
  });
});

describe("the page", () => {
  const machine = { processor: "2 × test", memoryGb: 4, system: "Linux", node: "v20", descriptors: 20_000 };
  const reportOf = (rows: readonly object[]) => ({
    at: "2026-01-02T03:04:05Z",
    scale: "full",
    seconds: 600,
    machine,
    rows,
  });
  const groups = [{ name: "group", title: "Calls", rows: [] }];

  it("has the table, the bars, the machine and what was missed", () => {
    const rows = [rowOf({}, { detail: "5,000 /s" }), rowOf({ title: "Slow | one", target: { most: 1 } })];
    const page = performancePage(reportOf(rows), groups) as string;
    expect(page).toContain("on 2026-01-02 in 10 minutes, on 2 × test");
    expect(page).toContain("| CPU a call | 2 ms | 3 ms | 1.50 × | ≤ 1.5 × | met | 5 % |");
    expect(page).toContain("| Slow \\| one | 2 ms | 3 ms | 1.50 × | ≤ 1 ms | **missed** | 5 % |");
    expect(page).toContain("1 of 2 targets are met. Missed:\n\n- Slow | one: 3 ms, target ≤ 1 ms\n");
    expect(page).toContain("  Tendon    ████████████████████████  3 ms");
    expect(page).toContain("- `calls`: 5,000 /s");
  });

  it("keeps the notes that were written by hand", () => {
    const page = performancePage(reportOf([rowOf()]), groups, "Why it is so.") as string;
    expect(notesOf(page)).toBe("Why it is so.");
    expect(performancePage(reportOf([rowOf()]), groups, notesOf(page))).toBe(page);
  });

  it("draws bars to an eighth of a character", () => {
    expect(bar(1, 2, 4)).toBe("██");
    expect(bar(1, 3, 1)).toBe("▍");
    expect(bar(0, 3)).toBe("");
    expect(bar(9, 3, 2)).toBe("██");
  });
});

it("prints a table with a line for each row", () => {
  const lines = tableLines([rowOf(), rowOf({ name: "storm", target: { most: 1 } }, {}, 0.5)]) as string[];
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/^calls +3 ms +2 +1\.50 +≤ 1\.5 × +5 % +met$/);
  expect(lines[2]).toMatch(/^storm .*MISSED noisy$/);
});

describe("the command", () => {
  it("reads its options", () => {
    expect(
      readArguments(["--quick", "--only", "a,b", "--only=c", "--markdown"], ["a", "b", "c"]),
    ).toMatchObject({
      quick: true,
      only: ["a", "b", "c"],
      markdown: "",
    });
    expect(readArguments(["--markdown=page.md"], [])).toMatchObject({ quick: false, markdown: "page.md" });
  });

  it("rejects unknown options, unknown names and unreadable reports before it measures", async () => {
    expect(await bench("--fast")).toMatchObject({ status: 2, output: expect.stringContaining("--fast") });
    const unknown = await bench("--only", "storms");
    expect(unknown.status).toBe(2);
    expect(unknown.output).toContain('no row or group is called "storms"; --list names them');
    const missing = await bench("--compare", "no-such-report.json");
    expect(missing.status).toBe(2);
    expect(missing.output).toContain("The report no-such-report.json cannot be read");
  });

  it("lists groups and rows by the names that --only takes", async () => {
    const { status, output } = await bench("--list");
    expect(status).toBe(0);
    expect(output).toContain("idle: Idle devices (only with --only)");
    for (const name of [
      "ws-storm-time",
      "mqtt-known",
      "rest-ws-1",
      "stall-flat",
      "serve-ready",
      "home-write",
    ])
      expect(output).toMatch(new RegExp(`^ {2}${name} `, "m"));
  });

  it("measures a row, writes the report and the page, and compares with itself", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-bench-test-"));
    onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
    const [json, page] = [path.join(folder, "report.json"), path.join(folder, "page.md")];
    const measured = await bench("--quick", "--only", "home-rss", "--json", json, `--markdown=${page}`);
    expect(measured.status, measured.output).toBe(0);
    const { rows } = JSON.parse(fs.readFileSync(json, "utf8")) as { rows: Record<string, unknown>[] };
    expect(rows).toMatchObject([{ name: "home-rss", group: "home", unit: "MB" }]);
    expect(fs.readFileSync(page, "utf8")).toContain("| simulated home: RSS when ready |");
    const again = await bench("--from", json, "--compare", json);
    expect(again.output).toMatch(/^home-rss .* 1\.00 +± \d+ %$/m);
  });
});
