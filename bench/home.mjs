// `tendon home --mcp` beside a bare Node echo of the same lines, in the same run: calls one after the other, many at
// once, start-up and memory. CPU is the server's own, so that the client's cost does not blur it.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { startLineServer } from "./home-process.mjs";

const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const rounds = 3;
const starts = 9;
const pipelined = 500;

const reading = '{"type":"call","id":1,"tool":"get_all_states","args":{}}\n';
const switching = [true, false].map(
  (on) => `{"type":"call","id":1,"tool":"set_light_state","args":{"name":"salon","on":${on}}}\n`,
);

/** `next` gives the text of the next question and how many lines answer it. */
async function measure(server, forSeconds, next) {
  let calls = 0;
  const cpuBefore = server.cpuMs();
  const started = performance.now();
  while (performance.now() - started < forSeconds * 1000) {
    for (let group = 0; group < 20; group += 1) {
      const [text, count] = next();
      await server.ask(text, count);
      calls += count;
    }
  }
  return { calls, ms: performance.now() - started, cpuMs: server.cpuMs() - cpuBefore };
}

/** Turn and turn about, so that whatever else the machine does meets both alike. */
async function compare(servers, next) {
  const sums = servers.map(() => ({ calls: 0, ms: 0, cpuMs: 0 }));
  for (const server of servers) await measure(server, 1, next);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, server] of servers.entries()) {
      const part = await measure(server, seconds / rounds, next);
      for (const key of Object.keys(part)) sums[index][key] += part[key];
    }
  }
  return sums.map(({ calls, ms, cpuMs }) => ({
    perSecond: (calls / ms) * 1000,
    cpuUs: (cpuMs / calls) * 1000,
  }));
}

async function startUp(start) {
  const times = [];
  for (let count = 0; count < starts; count += 1) {
    const server = await start();
    times.push(server.startMs);
    await server.stop();
  }
  return times.sort((a, b) => a - b)[Math.floor(starts / 2)];
}

function row(name, { perSecond, cpuUs }) {
  console.log(
    `${name.padEnd(52)}${Math.round(perSecond).toString().padStart(10)}${cpuUs.toFixed(2).padStart(10)}`,
  );
}

export async function benchHome() {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-bench-home-"));
  const startEcho = () => startLineServer("./servers/line-echo.mjs", [], data);
  const startHome = () => startLineServer("../packages/cli/bin/tendon.js", ["home", "--mcp"], data);
  const [echo, home] = [await startEcho(), await startHome()];
  // Once, so that there is a file to look at.
  await home.ask(switching[0]);

  console.log(
    `\n${"the simulated home, JSON lines over pipes".padEnd(52)}${"calls/s".padStart(10)}${"CPU µs".padStart(10)}`,
  );
  const [echoOne, homeOne] = await compare([echo, home], () => [reading, 1]);
  row("bare Node echo, one call after the other", echoOne);
  row("tendon home --mcp, get_all_states", homeOne);
  const block = reading.repeat(pipelined);
  const [echoMany, homeMany] = await compare([echo, home], () => [block, pipelined]);
  row(`bare Node echo, ${pipelined} at once`, echoMany);
  row(`tendon home --mcp, ${pipelined} at once`, homeMany);
  let turn = 0;
  const [homeWrites] = await compare([home], () => {
    turn += 1;
    return [switching[turn % 2], 1];
  });
  row("tendon home --mcp, a light switched and kept", homeWrites);
  const changes = switching.join("").repeat(pipelined / 2);
  const [manyWrites] = await compare([home], () => [changes, pipelined]);
  row(`tendon home --mcp, ${pipelined} switched and kept at once`, manyWrites);
  console.log(
    `home CPU a call / bare echo: ${(homeOne.cpuUs / echoOne.cpuUs).toFixed(2)} (target: at most 1.50)`,
  );

  const memory = [echo.rssMb(), home.rssMb()];
  await Promise.all([echo.stop(), home.stop()]);
  const ready = [await startUp(startEcho), await startUp(startHome)];
  console.log(
    `ready after ${ready[1].toFixed(0)} ms (bare echo ${ready[0].toFixed(0)} ms, ratio ${(ready[1] / ready[0]).toFixed(2)}); ` +
      `memory ${memory[1].toFixed(0)} MB (bare echo ${memory[0].toFixed(0)} MB, ratio ${(memory[1] / memory[0]).toFixed(2)})`,
  );
  fs.rmSync(data, { recursive: true, force: true });
}
