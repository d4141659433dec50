// `npm run bench`: every figure beside a baseline of the same run. Everything runs on loopback, bounded in time.
import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { allNames, chosen, groups } from "./groups/groups.mjs";
import { help, readArguments } from "./harness/arguments.mjs";
import { compareReports, comparisonLines, differenceOf } from "./harness/compare.mjs";
import { describeMachine } from "./harness/machine.mjs";
import { notesOf, performancePage } from "./harness/markdown.mjs";
import { foreignShare, machineTime, verdict } from "./harness/noise.mjs";
import { judge, makeRow } from "./harness/rows.mjs";
import { tableLines } from "./harness/terminal.mjs";
import { endProcesses } from "./process.mjs";

const page = fileURLToPath(new URL("../docs/operations/performance.md", import.meta.url));

function read() {
  try {
    return readArguments(process.argv.slice(2), allNames());
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

function readReport(file) {
  try {
    const report = JSON.parse(fs.readFileSync(file, "utf8"));
    if (Array.isArray(report.rows)) return report;
    console.error(`${file} is not a report of this bench.`);
  } catch (error) {
    console.error(`The report ${file} cannot be read: ${error.message}`);
  }
  process.exit(2);
}

/** By the targets and bounds of today. */
function judged(old) {
  const definitions = new Map(groups.flatMap(({ rows }) => rows).map((row) => [row.name, row]));
  return { ...old, rows: old.rows.map((row) => judge(row, definitions.get(row.name) ?? row)) };
}

function list() {
  for (const { name, title, rows, optIn } of groups) {
    console.log(`${name}: ${title}${optIn === true ? " (only with --only)" : ""}`);
    for (const row of rows) console.log(`  ${row.name.padEnd(24)}${row.title}`);
  }
}

async function measure({ quick, only }, log) {
  const started = performance.now();
  const report = {
    at: new Date().toISOString(),
    scale: quick ? "quick" : "full",
    machine: describeMachine(),
  };
  const rows = [];
  const failed = [];
  for (const group of chosen(only)) {
    log(group.title);
    const before = machineTime();
    const measured = {};
    try {
      const { wants } = group;
      await group.run({ scale: report.scale, wants, log: (line) => log(`  ${line}`), results: measured });
    } catch (error) {
      failed.push({ group: group.name, error: error.message });
      log(`  FAILED: ${error.stack}`);
    }
    await endProcesses();
    const foreign = foreignShare(before, machineTime());
    const own = group.rows
      .filter(({ name }) => group.wants(name) && measured[name] !== undefined)
      .map((definition) => makeRow(group.name, definition, measured[definition.name], foreign));
    for (const line of tableLines(own)) log(line);
    rows.push(...own);
  }
  return { ...report, seconds: Math.round((performance.now() - started) / 1_000), rows, failed };
}

const options = read();
if (options.help) {
  console.log(help);
  process.exit(0);
}
if (options.list) {
  list();
  process.exit(0);
}
// By default a signal skips what the exit does: it removes the data folders. The processes end with this one.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
// Read first: a wrong name should not wait for the measurement.
const older = options.compare === undefined ? undefined : readReport(options.compare);
const report =
  options.from === undefined
    ? await measure(options, (line) => console.error(line))
    : judged(readReport(options.from));
if (options.json !== undefined) fs.writeFileSync(options.json, `${JSON.stringify(report, null, 1)}\n`);
if (report.rows.length > 0) console.log(`${tableLines(report.rows).join("\n")}\n`);
console.log(verdict(report.rows));
if (older !== undefined) {
  const difference = differenceOf(older, report);
  console.log(`\n${comparisonLines(compareReports(older, report)).join("\n")}`);
  if (difference !== undefined) console.log(difference);
}
if (options.markdown !== undefined) {
  const file = options.markdown || page;
  const notes = fs.existsSync(file) ? notesOf(fs.readFileSync(file, "utf8")) : "";
  fs.writeFileSync(file, performancePage(report, groups, notes));
}
for (const { group, error } of report.failed) console.error(`${group} failed: ${error}`);
process.exit(report.failed.length === 0 ? 0 : 1);
