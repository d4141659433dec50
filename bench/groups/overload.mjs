// More callers than the gateway can serve: what it serves, how soon it refuses the rest, and whether it stays reachable.
import http from "node:http";
import { macOf, volumeTool } from "../devices/firmwares.mjs";
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { percentile } from "../harness/statistics.mjs";
import { startServer } from "../process.mjs";

const most = "the most it serves";
const factors = [0.5, 2, 4];

const rows = [
  {
    name: "overload-most",
    title: "calls a second that the gateway serves at most",
    unit: "/s",
    better: "more",
  },
  ...factors.flatMap((factor) => [
    {
      name: `overload-${factor}-served`,
      title: `served at ${factor} times that rate`,
      unit: "/s",
      better: "more",
      baseline: most,
    },
    {
      name: `overload-${factor}-p99`,
      title: `p99 of served calls at ${factor} times`,
      unit: "ms",
      better: "less",
    },
    {
      name: `overload-${factor}-refused`,
      title: `p99 of refusals at ${factor} times`,
      unit: "ms",
      better: "less",
    },
    {
      name: `overload-${factor}-health`,
      title: `p99 of /healthz at ${factor} times`,
      unit: "ms",
      better: "less",
    },
  ]),
];

const scales = { full: { deviceCount: 1_000, seconds: 5 }, quick: { deviceCount: 300, seconds: 2.5 } };
const connections = 2_000;
const probeEveryMs = 200;
/** Until then the gateway takes the overload for a burst, and works off what it took on. */
const settledMs = 1_000;
const body = JSON.stringify({ arguments: { volume: 30 } });

async function run({ scale, log, results }) {
  const { deviceCount, seconds } = scales[scale];
  const server = await startGateway();
  const callers = await startServer("./servers/callers.mjs");
  const fleet = await Fleet.start();
  await fleet.connect("websocket", { url: server.devices }, 0, deviceCount);
  const paths = Array.from(
    { length: deviceCount },
    (_, index) => `/api/v1/devices/${macOf(index)}/tools/${volumeTool}/call`,
  );
  const order = { port: server.port, connections, paths, token: server.token, body };
  const offer = (perSecond, length = seconds) => callers.ask({ ...order, perSecond, seconds: length });
  await offer(2_000, 1);
  const served = await sustainable(offer);
  results["overload-most"] = {
    values: [served],
    detail: `${deviceCount} devices, ${connections} connections`,
  };
  for (const factor of factors) {
    log(`${factor} times ${Math.round(served)} calls/s`);
    const probe = probeHealth(server.url);
    const result = await offer(served * factor);
    const health = await probe.stop();
    const early = [...result.ok, ...result.refused, ...health].filter(({ atMs }) => atMs < settledMs);
    const slowest = early.reduce((longest, { tookMs }) => Math.max(longest, tookMs), 0);
    results[`overload-${factor}-served`] = {
      values: [result.okPerSecond],
      baselines: [served],
      detail: `in the first second at most ${slowest.toFixed(0)} ms${faultsOf(result)}`,
    };
    const names = { p99: result.ok, refused: result.refused, health };
    for (const [name, answers] of Object.entries(names)) {
      if (answers.length === 0) continue;
      const [p50, p99] = steady(answers);
      results[`overload-${factor}-${name}`] = { values: [p99], detail: `p50 ${p50.toFixed(0)} ms` };
    }
  }
  await callers.stop();
  await fleet.stop();
  await server.stop();
}

function faultsOf({ unsent, unanswered, withoutRetryAfter, other }) {
  const faults = Object.entries({ unsent, unanswered, withoutRetryAfter, other: other.length });
  return faults
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `; ${what}: ${count}`)
    .join("");
}

/** The median and the 99th percentile after the beginning. */
function steady(answers) {
  const took = answers.filter(({ atMs }) => atMs >= settledMs).map(({ tookMs }) => tookMs);
  return [0.5, 0.99].map((share) => percentile(took, share));
}

/** What the gateway serves at the rate from which on more requests bring no more answers. */
async function sustainable(offer) {
  let best = 0;
  let failed = 0;
  for (let rate = 2_000; failed < 2; rate *= 1.25) {
    const { okPerSecond } = await offer(rate, 1);
    best = Math.max(best, okPerSecond);
    if (okPerSecond < 0.85 * rate) failed += 1;
  }
  return best;
}

function probeHealth(url) {
  const took = [];
  const running = new Set();
  const began = performance.now();
  const timer = setInterval(() => {
    const from = performance.now();
    const answered = new Promise((resolve) => {
      const request = http.get(`${url}/healthz`, { agent: false }, (response) => {
        response.resume();
        response.on("end", resolve);
      });
      request.on("error", resolve);
    }).then(() => {
      took.push({ tookMs: performance.now() - from, atMs: from - began });
      running.delete(answered);
    });
    running.add(answered);
  }, probeEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
      return took;
    },
  };
}

export const overload = { name: "overload", title: "Overload", rows, run };
