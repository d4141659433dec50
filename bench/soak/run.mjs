// `npm run soak -- --minutes N`: a gateway under mixed traffic, churn and faults, and what must hold then.
import fs from "node:fs";
import { parseArgs } from "node:util";
import { printReport } from "./report.mjs";
import { Soak } from "./soak.mjs";

const help = `Runs a gateway under mixed traffic, churn and faults, and checks that no call is lost or runs twice,
that presence is right, and that memory and descriptors do not grow.

  npm run soak -- --minutes N [options]

  --minutes N     how long calls are made; fractions are allowed (default 5). The trend of memory counts from 60 on
  --seed S        repeats the choices of a run (default: a new one, which the report names)
  --devices N     devices over WebSocket and MQTT, half each (default 100); nine virtual boards and a program are added
  --rate N        calls a second on average (default 30)
  --restarts N    kills the gateway every N minutes with SIGKILL; memory is not judged then
  --json FILE     writes the report with all samples
  --keep          keeps the gateway's data folder
  --help

Exit code 1: something did not hold. The first violation is printed.`;

function number(name, text, least) {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  console.error(`--${name} needs a number from ${least} on, not "${text}".`);
  process.exit(2);
}

function read() {
  try {
    const text = { type: "string" };
    const options = { minutes: text, seed: text, devices: text, rate: text, restarts: text, json: text };
    const flag = { type: "boolean" };
    return parseArgs({ options: { ...options, keep: flag, help: flag } }).values;
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

const values = read();
if (values.help) {
  console.log(help);
  process.exit(0);
}
const options = {
  minutes: number("minutes", values.minutes ?? 5, 0.01),
  seed: number("seed", values.seed ?? Date.now() % 1_000_000, 0),
  devices: number("devices", values.devices ?? 100, 1),
  rate: number("rate", values.rate ?? 30, 0.1),
  restarts: number("restarts", values.restarts ?? 0, 0),
  keep: values.keep,
};
console.log(
  `seed ${options.seed}, ${options.devices} devices, ${options.rate} calls/s, ${options.minutes} min`,
);
const soak = new Soak(options, (line) => console.log(line));
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    void soak.gateway.kill().then(() => {
      soak.gateway.remove();
      process.exit(1);
    });
  });
}
const report = await soak.run();
if (values.json !== undefined) fs.writeFileSync(values.json, `${JSON.stringify(report, null, 1)}\n`);
printReport(report);
if (options.keep) console.log(`data: ${soak.gateway.folder}`);
process.exit(report.violationCount === 0 ? 0 : 1);
