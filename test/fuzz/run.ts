/** `npm run fuzz`: see `help`. */
import { parseArgs } from "node:util";
import { addToCorpus, corpusOf } from "./corpus.ts";
import { type Bounds, type Failure, fuzz, type Report } from "./engine.ts";
import { entriesWith, entryNames } from "./entry/entries.ts";
import { fuzzEntry } from "./entry/entry-engine.ts";
import { Programs } from "./entry/line-entry.ts";
import { OwnProcess } from "./entry/own-process.ts";
import { targets } from "./targets.ts";

const help = `npm run fuzz -- [options]

Sends changed and made-up inputs to every decoder and every entry point of the gateway.
Prints the inputs, the slowest input in CPU time, and the growth of the heap.
An input that breaks a promise is written into test/fuzz/corpus, and the exit code is 1.

  --minutes N      how long, over all targets (default 5)
  --inputs N       how many inputs for each target, instead of a time
  --seed N         the run to repeat (default: random; always printed)
  --target NAME    only this target; can be given several times
  --list           print the names of the targets
  --help           print this text
`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    inputs: { type: "string" },
    seed: { type: "string" },
    target: { type: "string", multiple: true },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Faster inputs differ by chance. */
const worthShowingMs = 5;
const columns = [22, 10, 9, 12, 12] as const;

function row(cells: readonly string[]): string {
  return cells
    .map((cell, at) => (at === 0 ? cell.padEnd(columns[0]) : cell.padStart(columns[at] ?? 0)))
    .join(" ");
}

function print({ target, inputs, seconds, slowestMs, slowest, growthBytes, outcomes }: Report): void {
  const growth = growthBytes === undefined ? "-" : `${Math.max(0, growthBytes / 1024).toFixed(0)} KiB`;
  const counts = [...outcomes]
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`);
  const rate = (inputs / seconds).toFixed(0);
  console.log(
    `${row([target, String(inputs), rate, `${slowestMs.toFixed(1)} ms`, growth])}  ${counts.join(", ")}`,
  );
  if (slowestMs < worthShowingMs || slowest.length === 0) return;
  const shown = JSON.stringify(slowest.subarray(0, 100).toString("latin1"));
  console.log(`${" ".repeat(columns[0])} slowest: ${slowest.length} bytes, ${shown}`);
}

function report({ target, seed, input, reason }: Failure): void {
  const file = addToCorpus(target, input);
  console.log(`FAIL ${target}: ${reason}`);
  console.log(`     input: ${file}`);
  console.log(`     again: npm run fuzz -- --target ${target} --seed ${seed}`);
}

function growthFailure({ target, growthBytes = 0, mostGrowthBytes, inputs }: Report): boolean {
  if (growthBytes <= mostGrowthBytes) return false;
  console.log(`FAIL ${target}: the heap grew by ${growthBytes} bytes in ${inputs} inputs`);
  return true;
}

const names = [...targets.map(({ name }) => name), ...entryNames];

/** The decoders, and then the entry points of one gateway. */
async function* run(chosen: ReadonlySet<string>, bounds: Bounds): AsyncGenerator<Report> {
  const corpus = (name: string) => corpusOf(name).map(({ input }) => input);
  for (const target of targets) if (chosen.has(target.name)) yield fuzz(target, corpus(target.name), bounds);
  if (!entryNames.some((name) => chosen.has(name))) return;
  const programs = new Programs();
  const ports = await programs.listen();
  for (const entry of entriesWith(programs).filter(({ name }) => chosen.has(name))) {
    const gateway = await OwnProcess.start(ports);
    yield await fuzzEntry(entry, gateway, corpus(entry.name), { ...bounds, replay: true });
    await gateway.stop();
  }
  programs.close();
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(help);
    return 0;
  }
  if (values.list) {
    console.log(names.join("\n"));
    return 0;
  }
  const unknown = (values.target ?? []).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`Unknown target: ${unknown.join(", ")}. \`npm run fuzz -- --list\` prints the targets.`);
    return 2;
  }
  const seed = values.seed === undefined ? Math.floor(Math.random() * 0x7fff_ffff) : Number(values.seed);
  const chosen = new Set(values.target ?? names);
  const seconds = (Number(values.minutes) * 60) / chosen.size;
  const bounds = values.inputs === undefined ? { seed, seconds } : { seed, inputs: Number(values.inputs) };
  console.log(`seed ${seed}`);
  console.log(`${row(["target", "inputs", "inputs/s", "slowest", "growth"])}  outcomes`);
  let [total, failures] = [0, 0];
  for await (const result of run(chosen, bounds)) {
    total += result.inputs;
    print(result);
    if (result.failure !== undefined) report(result.failure);
    if (result.failure !== undefined || growthFailure(result)) failures += 1;
  }
  console.log(`${total} inputs, ${failures === 0 ? "no failures" : `${failures} failures`}`);
  return failures === 0 ? 0 : 1;
}

process.exitCode = await main();
