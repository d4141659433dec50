// `npm run faults -- --minutes N`: three nodes behind the repository's balancer file, broken one fault at a time while
// calls are made, and what that cost.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Boards } from "./boards.mjs";
import { faults } from "./faults.mjs";
import { Load } from "./load.mjs";
import { pause, Stack } from "./stack.mjs";
import { tableOf, writeTable } from "./table.mjs";

const help = `Breaks three nodes behind HAProxy, one fault at a time, while calls are made, and prints what it cost.

  npm run faults -- --minutes N [options]

  --minutes N     how long all faults take together; each takes 15 to 45 s at least (default 6)
  --boards N      boards over WebSocket and MQTT, half each (default 600)
  --rate N        calls a second, half of them with an Idempotency-Key (default 50)
  --only A,B      only these: ${faults.map(({ name }) => name).join(", ")}
  --json FILE     writes the figures
  --write         writes the table into docs/operations/reliability.md
  --keep          keeps the folder with the logs of the nodes
  --help

Exit code 1: a call ran twice, or was reported done without having run. 2: a target was missed.`;

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

function read() {
  try {
    const text = { type: "string" };
    const flag = { type: "boolean" };
    const options = { minutes: text, boards: text, rate: text, only: text, json: text };
    return parseArgs({ options: { ...options, write: flag, keep: flag, help: flag } }).values;
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

function number(name, text, least) {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  console.error(`--${name} needs a number from ${least} on, not "${text}".`);
  process.exit(2);
}

const values = read();
if (values.help) {
  console.log(help);
  process.exit(0);
}
const minutes = number("minutes", values.minutes ?? 6, 0);
const count = number("boards", values.boards ?? 600, 1);
const rate = number("rate", values.rate ?? 50, 1);
const names = values.only?.split(",") ?? faults.map(({ name }) => name);
const chosen = faults.filter(({ name }) => names.includes(name));
if (chosen.length !== names.length) {
  console.error(`--only knows ${faults.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}

const stack = await Stack.start();
const boards = new Boards(stack.url);
const rows = [];
try {
  await boards.start(count);
  console.log(`three nodes, ${count} boards, ${rate} calls/s; logs in ${stack.folder}`);
  for (const fault of chosen) rows.push(await measure(fault));
} finally {
  boards.stop();
  await stack.stop({ keep: values.keep });
}

async function measure(fault) {
  await settled();
  const load = new Load(stack.url, boards, count);
  const refusedBefore = boards.refusals;
  const seconds = Math.max(fault.leastSeconds, (minutes * 60) / faults.length);
  const end = Date.now() + seconds * 1_000;
  load.start(rate);
  await pause(2_000);
  const measured = await fault.fault(stack);
  await pause(Math.max(0, end - Date.now()));
  await load.stop();
  const { plain, keyed, longestGapMs } = load;
  const figures = {
    plainTotal: plain.total,
    plainFailed: plain.failed,
    plainShare: plain.failed / plain.total,
    plainCodes: Object.fromEntries(plain.codes),
    keyedTotal: keyed.total,
    keyedCodes: Object.fromEntries(keyed.codes),
    gapMs: Math.round(longestGapMs),
    slowestMs: Math.round(keyed.slowestMs),
    never: keyed.never,
    knownToHaveRun: keyed.knownToHaveRun,
    refusals: boards.refusals - refusedBefore,
    ...load.violations(),
    ...measured,
  };
  const row = { name: fault.name, title: fault.title, target: fault.target, ...figures };
  console.log(JSON.stringify(row));
  return { ...row, met: fault.holds(figures) };
}

/** Every node is ready and sees all boards, so that one fault does not count for the next. */
async function settled() {
  const end = Date.now() + 90_000;
  for (;;) {
    const ready = await Promise.all(stack.nodes.map((node) => seesAll(node)));
    if (ready.every(Boolean)) return;
    if (Date.now() > end) throw new Error("the nodes did not settle");
    await pause(250);
  }
}

async function seesAll(node) {
  const answer = await fetch(`${node.url}/readyz`).catch(() => undefined);
  return answer?.ok === true && boards.connected === count && (await node.online()) === count;
}

console.log(tableOf(rows));
if (values.json !== undefined) fs.writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`);
if (values.write) writeTable(path.join(root, "docs", "operations", "reliability.md"), rows, { count, rate });
const broken = rows.some(({ twice, notRun }) => twice > 0 || notRun > 0);
process.exit(broken ? 1 : rows.every(({ met }) => met) ? 0 : 2);
