// More callers than the gateway can serve: what it serves, how soon it refuses the rest, and whether it stays reachable.
import http from "node:http";
import { percentile } from "./open-loop.mjs";
import { startServer } from "./process.mjs";
import { connectDevice, macOf } from "./quick-device.mjs";

const deviceCount = 1_000;
const connections = 2_000;
const probeEveryMs = 200;
/** Until then the gateway takes the overload for a burst, and works off what it took on. */
const settledMs = 1_000;
const body = JSON.stringify({ arguments: { volume: 30 } });

export async function benchOverload(seconds) {
  const server = await startServer("./servers/gateway.mjs");
  const callers = await startServer("./servers/callers.mjs");
  const sockets = [];
  for (let from = 0; from < deviceCount; from += 100) {
    const group = Array.from({ length: 100 }, (_, index) => connectDevice(server.devices, from + index));
    sockets.push(...(await Promise.all(group)));
  }
  const port = Number(new URL(server.url).port);
  const paths = sockets.map(
    (_, index) => `/api/v1/devices/${macOf(index)}/tools/self.audio_speaker.set_volume/call`,
  );
  const order = { port, connections, paths, token: server.token, body };
  const run = (perSecond, length = seconds) => callers.ask({ ...order, perSecond, seconds: length });
  await run(2_000, 1);
  const most = await sustainable(run);
  console.log(`overload, ${connections} connections: the gateway serves ${Math.round(most)} calls/s at most`);
  console.log(
    `${"".padEnd(14)}${["served/s", "of most", "p50 ms", "p99 ms", "refused/s", "p50 ms", "p99 ms", "healthz", "p99 ms"].map((head) => head.padStart(10)).join("")}`,
  );
  for (const factor of [0.5, 2, 4]) {
    const probe = probeHealth(server.url);
    const result = await run(most * factor);
    const health = await probe.stop();
    const cells = [
      result.okPerSecond.toFixed(0),
      (result.okPerSecond / most).toFixed(2),
      ...steady(result.ok),
      (result.refused.length / seconds).toFixed(0),
      ...steady(result.refused),
      ...steady(health),
    ];
    console.log(`${`${factor} x most`.padEnd(14)}${cells.map((cell) => cell.padStart(10)).join("")}`);
    const early = [...result.ok, ...result.refused, ...health].filter(({ atMs }) => atMs < settledMs);
    console.log(
      `  in the first second: at most ${Math.max(...early.map(({ tookMs }) => tookMs)).toFixed(0)} ms`,
    );
    const { unsent, unanswered, withoutRetryAfter, other } = result;
    const faults = Object.entries({ unsent, unanswered, withoutRetryAfter, other: other.length });
    for (const [what, count] of faults) if (count > 0) console.log(`  ${what}: ${count}`);
  }
  for (const socket of sockets) socket.terminate();
  await callers.stop();
  await server.stop();
}

/** The median and the 99th percentile after the beginning. */
function steady(answers) {
  const took = answers.filter(({ atMs }) => atMs >= settledMs).map(({ tookMs }) => tookMs);
  return [0.5, 0.99].map((share) => percentile(took, share).toFixed(0));
}

/** What the gateway serves at the rate from which on more requests bring no more answers. */
async function sustainable(run) {
  let best = 0;
  let failed = 0;
  for (let rate = 2_000; failed < 2; rate *= 1.25) {
    const { okPerSecond } = await run(rate, 1);
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
