// One gateway with as many devices as the limit of open files allows, up to 19,500: how they connect and come back, what
// a call costs beside a gateway with 100, and how long the event loop stands still.
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { describeCalls, each, startLoad } from "../harness/load.mjs";
import { affordable } from "../harness/machine.mjs";
import { alternate, pause, settle } from "../harness/rounds.mjs";
import { HttpConnection } from "../http-connection.mjs";
import { startServer } from "../process.mjs";
import { gatewayRequests } from "./calls.mjs";
import { modernRequest, openSession } from "./mcp.mjs";

const bareWs = "bare ws: the same handshakes and frames";

const rows = [
  {
    name: "ws-fleet-new-time",
    title: "WebSocket, 19,500 new devices at once: all listed",
    unit: "s",
    better: "less",
    baseline: bareWs,
  },
  {
    name: "ws-fleet-new-cpu",
    title: "WebSocket, 19,500 new: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    baseline: bareWs,
  },
  {
    name: "ws-fleet-known-time",
    title: "WebSocket, 19,500 known devices come back at once: all listed",
    unit: "s",
    better: "less",
    target: { ratioMost: 1.2 },
    baseline: bareWs,
  },
  {
    name: "ws-fleet-known-cpu",
    title: "WebSocket, 19,500 known: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { most: 0.35 },
    baseline: bareWs,
  },
  {
    name: "calls-fleet",
    title: "CPU a call with 19,500 devices",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.1 },
    baseline: "the same with 100 devices",
  },
  {
    name: "event-streams",
    title: "CPU a call with ten event streams open",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.1 },
    baseline: "the same without event streams",
  },
  {
    name: "stall-flat",
    title: "longest stall: `/mcp/flat` initialize, 19,500 devices",
    unit: "ms",
    better: "less",
    target: { most: 50 },
  },
  {
    name: "stall-search",
    title: "longest stall: first `tools_search`, 19,500 devices",
    unit: "ms",
    better: "less",
    target: { most: 50 },
  },
  {
    name: "stall-join",
    title: "longest stall: one device joins 19,500",
    unit: "ms",
    better: "less",
    target: { most: 50 },
  },
  {
    name: "stall-rss",
    title: "RSS growth over these three",
    unit: "%",
    clock: "cpu",
    better: "less",
    target: { most: 20 },
  },
];

const scales = {
  full: { devices: 19_500, known: 3, rounds: 5, seconds: 2, joins: 3 },
  quick: { devices: 3_000, known: 2, rounds: 3, seconds: 1, joins: 2 },
};
const few = 100;
const streams = 10;
const parallel = 64;
const warmUp = 300;
/** Other numbers than those of the fleet. */
const joining = 2_000_000;
const connectNames = ["ws-fleet-new-time", "ws-fleet-new-cpu", "ws-fleet-known-time", "ws-fleet-known-cpu"];
const stallNames = ["stall-flat", "stall-search", "stall-join", "stall-rss"];

async function run({ scale, wants, log, results }) {
  const sizes = { ...scales[scale], devices: affordable(scales[scale].devices) };
  const fleet = await Fleet.start();
  const load = await startLoad();
  const small = await startSmall(fleet);
  if (wants("event-streams")) {
    log(`${streams} event streams`);
    results["event-streams"] = await eventStreams(load, small, sizes);
  }
  if ([...connectNames, ...stallNames, "calls-fleet"].some(wants)) {
    const large = await startGateway();
    const crowd = await Fleet.start();
    Object.assign(results, await connectFleet(crowd, large, sizes, connectNames.some(wants), log));
    if (stallNames.some(wants)) {
      log("stalls of the event loop");
      Object.assign(results, await stalls(crowd, large, sizes));
    }
    if (wants("calls-fleet")) {
      log(`calls with ${few} and with ${sizes.devices} devices`);
      results["calls-fleet"] = await callCost(load, { small, large }, sizes);
    }
    await crowd.stop();
    await large.stop();
  }
  await load.stop();
  await fleet.stop();
  await small.stop();
}

/** A gateway with few devices, as the measure of what a call costs. */
export async function startSmall(fleet) {
  const small = await startGateway();
  await fleet.connect("websocket", { url: small.devices }, 0, few);
  return small;
}

async function eventStreams(load, gateway, { rounds, seconds }) {
  await load.prepare("streams", gatewayRequests(gateway, 0, few));
  await load.warm("streams", parallel);
  const slice = { parallel, seconds };
  const request =
    "GET /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n" +
    `authorization: ${gateway.authorization}\r\n\r\n`;
  const withStreams = async (count) => {
    await load.streams(gateway.port, request, count);
    return await load.call(gateway, "streams", slice);
  };
  const measured = await alternate(
    { with: () => withStreams(streams), without: () => withStreams(0) },
    { rounds },
  );
  await load.streams(gateway.port, request, 0);
  return {
    values: each(measured.with, "cpuMsEach"),
    baselines: each(measured.without, "cpuMsEach"),
    detail: `with: ${describeCalls(measured.with)}; without: ${describeCalls(measured.without)}`,
  };
}

async function connectOnce(fleet, server, url, count) {
  const before = await server.cpuMs();
  const { ms, retries } = await fleet.connect("websocket", { url }, warmUp, count);
  await settle(server);
  return { seconds: ms / 1_000, cpuMsEach: ((await server.cpuMs()) - before) / count, retries };
}

/** All devices new, then known, each beside the bare server. They stay connected after the last round. */
async function connectFleet(fleet, gateway, { devices: count, known: rounds }, beside, log) {
  const script = await fleet.record({ url: gateway.devices }, joining - 1);
  await fleet.connect("websocket", { url: gateway.devices }, 0, warmUp);
  const bareOnce = async () => {
    const bare = await startServer("./servers/ws-bare.mjs", { BENCH_SCRIPT: JSON.stringify(script) });
    const crowd = await Fleet.start();
    await crowd.connect("websocket", { url: bare.url }, 0, warmUp);
    const result = await connectOnce(crowd, bare, bare.url, count);
    await crowd.stop();
    await bare.stop();
    return result;
  };
  log(`${count} new devices`);
  const fresh = await connectOnce(fleet, gateway, gateway.devices, count);
  if (!beside) return {};
  const bare = [await bareOnce()];
  const known = [];
  for (let round = 0; round < rounds; round += 1) {
    log(`${count} known devices, round ${round + 1} of ${rounds}`);
    await fleet.close(gateway);
    await settle(gateway);
    known.push(await connectOnce(fleet, gateway, gateway.devices, count));
    if (round > 0) bare.push(await bareOnce());
  }
  const rejected = ({ retries }) => (retries === 0 ? "" : `, ${retries} rejected and repeated`);
  const row = (list, key, one) => ({
    values: each(list, key),
    baselines: each(bare, key).slice(0, list.length),
    count,
    detail: `${count} devices${rejected(one)}`,
  });
  return {
    "ws-fleet-new-time": row([fresh], "seconds", fresh),
    "ws-fleet-new-cpu": row([fresh], "cpuMsEach", fresh),
    "ws-fleet-known-time": row(known, "seconds", known[0]),
    "ws-fleet-known-cpu": row(known, "cpuMsEach", known[0]),
  };
}

/** Calls spread over all devices of each gateway. */
export async function callCost(load, { small, large }, { devices: count, rounds, seconds }) {
  await load.prepare("few", gatewayRequests(small, 0, few));
  await load.prepare("many", gatewayRequests(large, warmUp, count));
  for (const name of ["few", "many"]) await load.warm(name, parallel);
  const slice = { parallel, seconds };
  const measured = await alternate(
    { many: () => load.call(large, "many", slice), few: () => load.call(small, "few", slice) },
    { rounds },
  );
  return {
    values: each(measured.many, "cpuMsEach"),
    baselines: each(measured.few, "cpuMsEach"),
    count,
    detail: `${count} devices: ${describeCalls(measured.many)}; ${few}: ${describeCalls(measured.few)}`,
  };
}

/** The longest time without a turn of the event loop while this runs and until the gateway is idle again. */
async function watched(gateway, work) {
  const before = await gateway.cpuMs();
  await gateway.ask("watch");
  await work();
  await settle(gateway);
  return { ...(await gateway.ask("watched")), cpuMs: (await gateway.cpuMs()) - before };
}

/** After a storm the process gives memory back for a while. */
async function untilMemoryStays(gateway) {
  let last = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 10; time += 1) {
    const { rssKb } = await gateway.memoryKb();
    if (rssKb > last * 0.99) return;
    last = rssKb;
    await pause(500);
  }
}

async function stalls(fleet, gateway, { devices, joins }) {
  await untilMemoryStays(gateway);
  const idle = await watched(gateway, () => pause(1_000));
  let session = {};
  const flat = await watched(gateway, async () => {
    session = await openSession(gateway, "/mcp/flat");
  });
  const search = await watched(gateway, async () => {
    const connection = await HttpConnection.open(gateway.port);
    const { status, body } = await connection.send(
      modernRequest(gateway, "/mcp", "tools_search", { query: "make it louder" }),
    );
    connection.close();
    if (status !== 200 || !body.includes("set_volume")) throw new Error(`tools_search: ${status} ${body}`);
  });
  const joined = [];
  for (let count = 0; count < joins; count += 1)
    joined.push(
      await watched(gateway, () => fleet.connect("websocket", { url: gateway.devices }, joining + count, 1)),
    );
  await fetch(`${gateway.url}/mcp/flat`, { method: "DELETE", headers: session });
  const peak = Math.max(...[flat, search, ...joined].map(({ rssPeakKb }) => rssPeakKb));
  const row = ({ stallMs, rawStallMs, cpuMs }) => ({
    values: [stallMs],
    count: devices,
    detail: `${rawStallMs.toFixed(0)} ms by the clock; CPU ${cpuMs.toFixed(0)} ms; idle: ${idle.stallMs.toFixed(0)} ms`,
  });
  const worst = joined.toSorted((a, b) => b.stallMs - a.stallMs)[0];
  const mb = (kb) => `${Math.round(kb / 1024)} MB`;
  return {
    "stall-flat": row(flat),
    "stall-search": row(search),
    "stall-join": row(worst),
    "stall-rss": { values: [(peak / idle.rssKb - 1) * 100], detail: `${mb(idle.rssKb)} to ${mb(peak)}` },
  };
}

export const largeFleet = { name: "large-fleet", title: "A large fleet", rows, run };
