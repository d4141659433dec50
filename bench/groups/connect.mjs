// Devices that connect, are initialised and listed: storms over WebSocket, new and known devices over MQTT 3.1.1 and 5,
// the memory of those that stay, and how long the gateway is busy in one piece when all of them go or come at once.
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { listenOverflows } from "../harness/measured-process.mjs";
import { settle } from "../harness/rounds.mjs";
import { figure } from "../harness/rows.mjs";
import { median, percentile } from "../harness/statistics.mjs";
import { startServer } from "../process.mjs";

const bareWs = "bare ws: the same handshakes and frames";
const bareAedes = "bare aedes: connect and one publish";
const bareAedes5 = "bare aedes: the same with MQTT 5";

const rows = [
  {
    name: "ws-storm-time",
    title: "WebSocket storm, 5,000 new devices at once: all listed",
    unit: "s",
    better: "less",
    target: { ratioMost: 2.5 },
    baseline: bareWs,
  },
  {
    name: "ws-storm-cpu",
    title: "WebSocket storm, 5,000 new: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { most: 0.7 },
    baseline: bareWs,
  },
  {
    name: "ws-storm-slowest",
    title: "slowest device (p99) of a storm of 3,000 new",
    unit: "s",
    better: "less",
    target: { most: 2 },
    baseline: bareWs,
  },
  {
    name: "ws-rss",
    title: "RSS a WebSocket device, 12 tools each",
    unit: "KB",
    clock: "cpu",
    better: "less",
    target: { most: 15 },
    baseline: bareWs,
  },
  {
    name: "mqtt-new",
    title: "MQTT device connects, new: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { most: 0.8 },
    baseline: bareAedes,
  },
  {
    name: "mqtt-known",
    title: "MQTT device comes back, known: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { most: 0.4 },
    baseline: bareAedes,
  },
  {
    name: "mqtt5-new",
    title: "MQTT 5 device connects, new: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { most: 0.8 },
    baseline: bareAedes5,
  },
  {
    name: "mqtt5-known",
    title: "MQTT 5 device comes back, known: CPU a device",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { most: 0.4 },
    baseline: bareAedes5,
  },
  {
    name: "mqtt-rss",
    title: "RSS an MQTT device, 12 tools each",
    unit: "KB",
    clock: "cpu",
    better: "less",
    target: { most: 25 },
    baseline: bareAedes,
  },
  {
    name: "mqtt-cut-stall",
    title: "longest stall: 5,000 MQTT devices are lost at once",
    unit: "ms",
    better: "less",
    target: { most: 50 },
  },
  {
    name: "mqtt-storm-stall",
    title: "longest stall: 5,000 MQTT devices come back at once",
    unit: "ms",
    better: "less",
    target: { most: 50 },
  },
];

const scales = {
  full: { storm: 5_000, slowest: 3_000, mqtt: 2_000, mqttStorm: 5_000, rounds: 3 },
  quick: { storm: 1_500, slowest: 1_000, mqtt: 600, mqttStorm: 1_500, rounds: 2 },
};
/** What runs for the first time is slow and allocates; a storm meets a gateway that has been running. */
const warmUp = 300;
/** Devices over MQTT do not come all at once: boards that fetch settings first are spread by that. */
const mqttAtOnce = 100;
const recorded = 1_000_000;

async function run({ scale, wants, log, results }) {
  const sizes = scales[scale];
  const fleet = await Fleet.start();
  if (["ws-storm-time", "ws-storm-cpu", "ws-storm-slowest", "ws-rss"].some(wants))
    Object.assign(results, await storms(fleet, sizes, log));
  if (["mqtt-new", "mqtt-known", "mqtt-rss"].some(wants)) {
    const { fresh, known, rss } = await mqtt(fleet, sizes, log, 4);
    Object.assign(results, { "mqtt-new": fresh, "mqtt-known": known, "mqtt-rss": rss });
  }
  if (["mqtt5-new", "mqtt5-known"].some(wants)) {
    const { fresh, known } = await mqtt(fleet, sizes, log, 5);
    Object.assign(results, { "mqtt5-new": fresh, "mqtt5-known": known });
  }
  if (["mqtt-cut-stall", "mqtt-storm-stall"].some(wants))
    Object.assign(results, await mqttStalls(fleet, sizes, log));
  await fleet.stop();
}

/** Connects devices and gives the time of all and of the slowest, and processor time and memory of each. */
async function connectAll(fleet, server, { transport, target, from, count, atOnce, prepare }) {
  const memoryBefore = await server.memoryKb();
  if (prepare !== undefined) {
    await prepare(from, count);
    await settle(server);
  }
  const cpuBefore = await server.cpuMs();
  const bytesBefore = await fleet.bytes();
  const overflowsBefore = listenOverflows();
  const { ms, took, retries } = await fleet.connect(transport, target, from, count, atOnce);
  const overflows = listenOverflows() - overflowsBefore;
  await settle(server);
  const cpuMs = (await server.cpuMs()) - cpuBefore;
  const bytes = (await fleet.bytes()) - bytesBefore;
  const memory = await server.memoryKb();
  return {
    seconds: ms / 1_000,
    slowest: percentile(took, 0.99) / 1_000,
    cpuMsEach: cpuMs / count,
    rssKbEach: (memory.rssKb - memoryBefore.rssKb) / count,
    heapKbEach: (memory.heapKb - memoryBefore.heapKb) / count,
    bytesEach: bytes / count,
    retries,
    overflows,
  };
}

function overflowText(count, ours, bare) {
  const of = (list) => median(list.map(({ small }) => small.overflows));
  return `${count} devices; the listen queue was full ${of(ours)} times, in the baseline ${of(bare)} times`;
}

function heapText(count, list) {
  const heap = median(list.map(({ heapKbEach }) => heapKbEach));
  return `${count} devices, after a collection; ${figure(heap)} KB of it is heap`;
}

/** One storm on a server of its own, then a smaller one. */
async function storm(fleet, server, url, { storm: count, slowest }) {
  const order = { transport: "websocket", target: { url } };
  await fleet.connect("websocket", { url }, 0, warmUp);
  await settle(server);
  const large = await connectAll(fleet, server, { ...order, from: warmUp, count });
  await fleet.close(server.online === undefined ? undefined : server);
  await settle(server);
  const small = await connectAll(fleet, server, { ...order, from: warmUp + count, count: slowest });
  await fleet.close(server.online === undefined ? undefined : server);
  await server.stop();
  return { large, small };
}

async function storms(fleet, sizes, log) {
  const [ours, bare] = [[], []];
  let script;
  for (let round = 0; round < sizes.rounds; round += 1) {
    log(`WebSocket storm of ${sizes.storm} and ${sizes.slowest}, round ${round + 1} of ${sizes.rounds}`);
    const gateway = await startGateway();
    script ??= await fleet.record({ url: gateway.devices }, recorded);
    ours.push(await storm(fleet, gateway, gateway.devices, sizes));
    const server = await startServer("./servers/ws-bare.mjs", { BENCH_SCRIPT: JSON.stringify(script) });
    bare.push(await storm(fleet, server, server.url, sizes));
  }
  const row = (part, key) => ({
    values: ours.map((each) => each[part][key]),
    baselines: bare.map((each) => each[part][key]),
  });
  const { retries, bytesEach } = ours[0].large;
  const frames = script.reduce((all, { length }) => all + length, script.length);
  const sent = `${sizes.storm} devices, ${frames} frames and ${Math.round(bytesEach)} bytes each`;
  const rejected = retries === 0 ? "" : `, ${retries} rejected and repeated`;
  return {
    "ws-storm-time": { ...row("large", "seconds"), count: sizes.storm, detail: sent + rejected },
    "ws-storm-cpu": { ...row("large", "cpuMsEach"), count: sizes.storm, detail: sent },
    "ws-storm-slowest": {
      ...row("small", "slowest"),
      count: sizes.slowest,
      detail: overflowText(sizes.slowest, ours, bare),
    },
    "ws-rss": {
      ...row("large", "rssKbEach"),
      detail: heapText(
        sizes.storm,
        ours.map(({ large }) => large),
      ),
    },
  };
}

/** New devices, and the same ones coming back. `prepare` fetches the settings of devices, as boards do it. */
async function newAndKnown(fleet, server, { count, prepare, ...order }) {
  await prepare?.(0, warmUp);
  await fleet.connect(order.transport, order.target, 0, warmUp, mqttAtOnce);
  await settle(server);
  const part = { ...order, from: warmUp, count, atOnce: mqttAtOnce };
  const fresh = await connectAll(fleet, server, { ...part, prepare });
  const gone = server.online === undefined ? undefined : server;
  await fleet.close(gone);
  await settle(server);
  const known = await connectAll(fleet, server, part);
  await fleet.close(gone);
  await server.stop();
  return { fresh, known };
}

async function mqtt(fleet, sizes, log, version) {
  const [ours, bare] = [[], []];
  const count = sizes.mqtt;
  const name = version === 5 ? "MQTT 5" : "MQTT";
  for (let round = 0; round < sizes.rounds; round += 1) {
    log(`${count} devices over ${name}, round ${round + 1} of ${sizes.rounds}`);
    const gateway = await startGateway();
    const prepare = (from, many) => fleet.provision(gateway.url, from, many);
    ours.push(await newAndKnown(fleet, gateway, { transport: "mqtt", target: { version }, count, prepare }));
    const server = await startServer("./servers/aedes-bare.mjs");
    const target = { endpoint: server.endpoint, version };
    bare.push(await newAndKnown(fleet, server, { transport: "mqtt-bare", target, count }));
  }
  const row = (part, key) => ({
    values: ours.map((each) => each[part][key]),
    baselines: bare.map((each) => each[part][key]),
  });
  const bytes = (part) => `${count} devices, ${Math.round(ours[0][part].bytesEach)} bytes each`;
  return {
    fresh: { ...row("fresh", "cpuMsEach"), detail: bytes("fresh") },
    known: { ...row("known", "cpuMsEach"), detail: bytes("known") },
    rss: {
      ...row("fresh", "rssKbEach"),
      detail: heapText(
        count,
        ours.map(({ fresh }) => fresh),
      ),
    },
  };
}

/** A fleet behind one router: all connections end at once, and all come back at once. */
async function mqttStalls(fleet, { mqttStorm: count, rounds }, log) {
  const [cuts, storms] = [[], []];
  const watched = async (gateway, work) => {
    await gateway.ask("watch");
    await work();
    return await gateway.ask("watched");
  };
  for (let round = 0; round < rounds; round += 1) {
    log(`${count} devices over MQTT are lost and come back, round ${round + 1} of ${rounds}`);
    const gateway = await startGateway();
    await fleet.provision(gateway.url, 0, count);
    await fleet.connect("mqtt", {}, 0, count, mqttAtOnce);
    await settle(gateway);
    cuts.push(
      await watched(gateway, async () => {
        await fleet.close();
        await settle(gateway);
      }),
    );
    storms.push(await watched(gateway, () => fleet.connect("mqtt", {}, 0, count)));
    await fleet.close(gateway);
    await gateway.stop();
  }
  const row = (seen) => ({
    values: seen.map(({ stallMs }) => stallMs),
    count,
    detail: `${count} devices; ${median(seen.map(({ rawStallMs }) => rawStallMs)).toFixed(0)} ms by the clock`,
  });
  return { "mqtt-cut-stall": row(cuts), "mqtt-storm-stall": row(storms) };
}

export const connect = { name: "connect", title: "Devices that connect", rows, run };
