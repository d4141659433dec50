// Start-up, the idle process, and a command from a shell.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Fleet } from "../harness/fleet.mjs";
import {
  adminToken,
  makeFolder,
  readyLine,
  serveArguments,
  serveEnvironment,
  startGateway,
  tendonBin,
} from "../harness/gateway.mjs";
import { cpuOfMs, endedChildrenMs, rssOfMb } from "../harness/measured-process.mjs";
import { alternate, pause } from "../harness/rounds.mjs";

const bareServer = "bare Node process that listens";

const rows = [
  {
    name: "serve-ready",
    title: "`tendon serve`: start to ready",
    unit: "s",
    better: "less",
    target: { most: 0.5 },
    baseline: bareServer,
  },
  {
    name: "serve-cpu",
    title: "`tendon serve`: CPU until ready",
    unit: "s",
    clock: "cpu",
    better: "less",
    target: { most: 0.5 },
    baseline: bareServer,
  },
  {
    name: "serve-rss",
    title: "`tendon serve`: RSS, idle",
    unit: "MB",
    clock: "cpu",
    better: "less",
    target: { most: 95 },
    baseline: bareServer,
  },
  {
    name: "cli-devices",
    title: "`tendon devices` from a shell: CPU",
    unit: "s",
    clock: "cpu",
    better: "less",
    target: { most: 0.15 },
    baseline: "bare Node: `node -e 0`",
  },
];

const scales = { full: { rounds: 9, idleMs: 3_000 }, quick: { rounds: 5, idleMs: 1_500 } };
const listed = 20;
const bareFile = fileURLToPath(new URL("../servers/node-bare.mjs", import.meta.url));

async function run({ scale, wants, log, results }) {
  const sizes = scales[scale];
  if (["serve-ready", "serve-cpu", "serve-rss"].some(wants)) {
    log("starts of `tendon serve`");
    Object.assign(results, await starts(sizes));
  }
  if (wants("cli-devices")) {
    log("`tendon devices`");
    Object.assign(results, await command(sizes));
  }
}

/** Starts it, waits until it is ready and then idle, and ends it. */
async function startOnce(args, folder, idleMs) {
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: serveEnvironment(),
    stdio: ["ignore", "pipe", "ignore"],
  });
  await readyLine(child);
  const seconds = (performance.now() - started) / 1_000;
  const cpu = cpuOfMs(child.pid) / 1_000;
  await pause(idleMs);
  const rss = rssOfMb(child.pid);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
  return { seconds, cpu, rss };
}

async function starts({ rounds, idleMs }) {
  const { folder, remove } = makeFolder();
  const measured = await alternate(
    {
      // The first start creates the data folder; those that count find one.
      ours: () => startOnce([tendonBin, ...serveArguments], folder, idleMs),
      bare: () => startOnce([bareFile], folder, idleMs),
    },
    { rounds },
  );
  remove();
  const row = (key) => ({
    values: measured.ours.map((start) => start[key]),
    baselines: measured.bare.map((start) => start[key]),
  });
  return {
    "serve-ready": { ...row("seconds"), detail: "with an existing data folder" },
    "serve-cpu": row("cpu"),
    "serve-rss": { ...row("rss"), detail: `${idleMs / 1_000} s after it was ready` },
  };
}

/** Processor time of one run of a program, in seconds. Several runs, because the system counts hundredths. */
async function runOnce(args, options) {
  const times = 4;
  const before = endedChildrenMs();
  for (let time = 0; time < times; time += 1) {
    const child = spawn(process.execPath, args, { ...options, stdio: ["ignore", "ignore", "inherit"] });
    const code = await new Promise((resolve) => child.once("exit", resolve));
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}`);
  }
  return (endedChildrenMs() - before) / 1_000 / times;
}

async function command({ rounds }) {
  const gateway = await startGateway();
  const fleet = await Fleet.start();
  await fleet.connect("websocket", { url: gateway.devices }, 0, listed);
  const env = { ...serveEnvironment(), TENDON_URL: gateway.url, TENDON_TOKEN: adminToken };
  const measured = await alternate(
    {
      ours: () => runOnce([tendonBin, "devices"], { cwd: gateway.folder, env }),
      bare: () => runOnce(["-e", "0"], { cwd: gateway.folder, env }),
    },
    { rounds },
  );
  await fleet.stop();
  await gateway.stop();
  return {
    "cli-devices": {
      values: measured.ours,
      baselines: measured.bare,
      detail: `${listed} devices, without npx`,
    },
  };
}

export const start = { name: "start", title: "Start and idle process", rows, run };
