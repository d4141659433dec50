// `tendon home --mcp` beside bare Node processes that answer the same lines: reads, writes that are kept, start-up and
// memory. CPU is the server's own, so that the client's cost does not blur it.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { each } from "../harness/load.mjs";
import { alternate } from "../harness/rounds.mjs";
import { figure } from "../harness/rows.mjs";
import { median } from "../harness/statistics.mjs";
import { startLineServer } from "../home-process.mjs";

const echoName = "bare Node echo of the same lines";

const rows = [
  {
    name: "home-read",
    title: "simulated home, one read after the other: CPU a call",
    unit: "µs",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.5 },
    baseline: echoName,
  },
  {
    name: "home-write",
    title: "simulated home, one kept write after the other: calls",
    unit: "/s",
    better: "more",
    target: { least: 22_788 },
    baseline: "bare Node that appends each line to a file",
  },
  {
    name: "home-write-500",
    title: "simulated home, 500 kept writes at once: calls",
    unit: "/s",
    better: "more",
  },
  {
    name: "home-ready",
    title: "simulated home: start to ready",
    unit: "ms",
    better: "less",
    target: { ratioMost: 1.15 },
    baseline: echoName,
  },
  {
    name: "home-rss",
    title: "simulated home: RSS when ready",
    unit: "MB",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.15 },
    baseline: echoName,
  },
];

const scales = { full: { rounds: 5, seconds: 1, starts: 15 }, quick: { rounds: 3, seconds: 0.7, starts: 7 } };
const pipelined = 500;

const reading = '{"type":"call","id":1,"tool":"get_all_states","args":{}}\n';
const switching = [true, false].map(
  (on) => `{"type":"call","id":1,"tool":"set_light_state","args":{"name":"salon","on":${on}}}\n`,
);
const changes = switching.join("").repeat(pipelined / 2);

/** Asks for so long. `next` gives the text of the next question and how many lines answer it. */
async function ask(server, seconds, next) {
  let calls = 0;
  const cpuBefore = server.cpuMs();
  const started = performance.now();
  while (performance.now() - started < seconds * 1000) {
    for (let group = 0; group < 20; group += 1) {
      const [text, count] = next();
      await server.ask(text, count);
      calls += count;
    }
  }
  const ms = performance.now() - started;
  return { perSecond: (calls / ms) * 1000, cpuUs: ((server.cpuMs() - cpuBefore) / calls) * 1000 };
}

async function run({ scale, wants, log, results }) {
  const { rounds, seconds, starts } = scales[scale];
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-bench-home-"));
  const startEcho = () => startLineServer("./servers/line-echo.mjs", [], data);
  const startHome = () => startLineServer("../packages/cli/bin/tendon.js", ["home", "--mcp"], data);
  const home = await startHome();
  // Once, so that there is a file to look at.
  await home.ask(switching[0]);
  const echo = await startEcho();
  const append = await startLineServer("./servers/line-append.mjs", [], data);
  const sqlite = await startLineServer("./servers/line-sqlite.mjs", [], data);
  const beside = async (servers, next) => {
    const sides = Object.entries({ ours: home, ...servers });
    return await alternate(
      Object.fromEntries(sides.map(([name, server]) => [name, () => ask(server, seconds, next)])),
      { rounds },
    );
  };
  let turn = 0;
  const write = () => {
    turn += 1;
    return [switching[turn % 2], 1];
  };
  if (wants("home-read")) {
    log("reads");
    const { ours, bare } = await beside({ bare: echo }, () => [reading, 1]);
    const detail = `${Math.round(ours[0].perSecond)} /s; bare ${Math.round(bare[0].perSecond)} /s`;
    results["home-read"] = { values: each(ours, "cpuUs"), baselines: each(bare, "cpuUs"), detail };
  }
  for (const [name, next] of [
    ["home-write", write],
    ["home-write-500", () => [changes, pipelined]],
  ]) {
    if (!wants(name)) continue;
    log("writes");
    const { ours, bare, raw } = await beside({ bare: append, raw: sqlite }, next);
    const cpu = `CPU ${ours[0].cpuUs.toFixed(0)} µs a call; bare ${bare[0].cpuUs.toFixed(0)} µs`;
    const detail = `${cpu}; raw SQLite, a transaction for each chunk: ${figure(median(each(raw, "perSecond")))} /s`;
    results[name] = { values: each(ours, "perSecond"), detail };
    // A bare process keeps 500 lines as one chunk, which is no measure of 500 writes.
    if (name === "home-write") results[name].baselines = each(bare, "perSecond");
  }
  await Promise.all([echo, home, append, sqlite].map((server) => server.stop()));
  if (["home-ready", "home-rss"].some(wants)) {
    log("starts");
    const once = async (start) => {
      const server = await start();
      const measured = { ms: server.startMs, mb: server.rssMb() };
      await server.stop();
      return measured;
    };
    const { ours, bare } = await alternate(
      { ours: () => once(startHome), bare: () => once(startEcho) },
      { rounds: starts },
    );
    results["home-ready"] = { values: each(ours, "ms"), baselines: each(bare, "ms") };
    results["home-rss"] = { values: each(ours, "mb"), baselines: each(bare, "mb") };
  }
  fs.rmSync(data, { recursive: true, force: true });
}

export const home = { name: "home", title: "The simulated home", rows, run };
