// `node bench/scale-simulation.mjs`: what a fleet puts on NATS. First the small case, for real: two and three gateways
// on a real NATS and PostgreSQL, every message on the server counted, beside what the model says of the same things.
// Where they differ it leaves with 1. Then the model alone for fleets that do not fit here. Needs a build.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { startTendon } from "@tendon/gateway";
import { startEngines } from "./engines.mjs";
import { poster } from "./load.mjs";
import { listenToNats } from "./nats-listener.mjs";
import { connectDevice, macOf } from "./quick-device.mjs";
import { simulate, Traffic } from "./scale-model.mjs";

const token = "bench-token-bench-token";
const deviceCount = 30;
const callsEach = 3;
const quietMs = 400;
/** What depends on when one looks may be off by a beat or a pull of each node. */
const timed = new Set(["beat", "pull"]);
/** At the start of a run only: nothing to do with how much happens. */
const notCompared = new Set(["who", "bye", "jetstream", "node", "other"]);

async function measure(engines, nodeCount) {
  const fleet = `scale${nodeCount}`;
  const ear = await listenToNats(engines.natsPort, fleet);
  const folders = [];
  const nodes = [];
  for (let index = 0; index < nodeCount; index += 1) {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-scale-"));
    folders.push(data);
    nodes.push(
      await startTendon(
        {
          http: { port: 0 },
          mqtt: { port: 0 },
          data,
          devices: { admission: "open" },
          log: { level: "error" },
          storage: engines.storage,
          cluster: `${engines.cluster}/${fleet}`,
        },
        { adminToken: token },
      ),
    );
  }
  const { post, close } = poster(4, { authorization: `Bearer ${token}` });
  const numberOf = (device) => nodeCount * 1_000 + device;
  const each = (count, work) =>
    Array.from({ length: count }, (_, index) => index).reduce(
      (before, index) => before.then(() => work(index)),
      Promise.resolve(),
    );
  let sockets = [];
  const connect = async () => {
    sockets = [];
    await each(deviceCount, async (index) => {
      const { deviceWebSocket } = nodes[index % nodeCount].addresses;
      sockets.push(await connectDevice(deviceWebSocket, numberOf(index)));
    });
  };
  const leave = () => {
    for (const socket of sockets) socket.terminate();
  };
  const call = async (enterAt) => {
    await each(deviceCount * callsEach, (index) => {
      const device = index % deviceCount;
      const { url } = nodes[(device + enterAt) % nodeCount];
      const at = `${url}/api/v1/devices/${macOf(numberOf(device))}/tools/self.audio_speaker.set_volume/call`;
      return post(at, { arguments: { volume: 30 } });
    });
  };
  const steps = [
    ["comeNew", deviceCount, connect],
    ["leave", deviceCount, leave],
    ["comeBack", deviceCount, connect],
    ["localCall", deviceCount * callsEach, () => call(0)],
    ["crossCall", deviceCount * callsEach, () => call(1)],
  ];
  await ear.quiet(quietMs);
  ear.take();
  const rows = [];
  for (const [cause, times, work] of steps) {
    const started = performance.now();
    await work();
    await ear.quiet(quietMs);
    const { counts, bytes } = ear.take();
    const said = new Traffic(nodeCount);
    said.add(cause, times);
    said.pass((performance.now() - started) / 1_000);
    rows.push({ nodeCount, cause, times, counts, bytes, said: said.counts });
  }
  close();
  leave();
  for (const node of nodes) await node.stop();
  ear.stop();
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
  return rows;
}

function compare({ nodeCount, cause, times, counts, said }) {
  const kinds = [...new Set([...Object.keys(counts), ...Object.keys(said)])].filter(
    (kind) => !notCompared.has(kind) && ((counts[kind] ?? 0) > 0 || (said[kind] ?? 0) > 0),
  );
  let right = true;
  const cells = kinds.map((kind) => {
    const real = counts[kind] ?? 0;
    const model = said[kind] ?? 0;
    const near = timed.has(kind)
      ? Math.abs(real - model) <= 2 * nodeCount
      : Math.abs(real - model) <= 0.02 * model;
    if (!near) right = false;
    return `${kind} ${real}/${Math.round(model * 10) / 10}${near ? "" : " (!)"}`;
  });
  console.log(`  ${nodeCount} nodes, ${String(times).padStart(3)} × ${cause.padEnd(10)} ${cells.join(", ")}`);
  return right;
}

function extrapolate() {
  const usual = { seconds: 120, callsPerHour: 6, breaksPerDay: 4, seed: 1 };
  const cases = [
    { name: "10,000 devices, 3 nodes", nodes: 3, devices: 10_000, ...usual },
    { name: "100,000 devices, 5 nodes", nodes: 5, devices: 100_000, ...usual },
    { name: "100,000 devices, 20 nodes", nodes: 20, devices: 100_000, ...usual },
    { name: "100,000, 5 nodes, 60 calls an hour", nodes: 5, devices: 100_000, ...usual, callsPerHour: 60 },
    { name: "100,000, 5 nodes, one dies", nodes: 5, devices: 100_000, ...usual, crashAt: 30 },
    { name: "10,000,000 in one fleet, 500 nodes", nodes: 500, devices: 10_000_000, ...usual, seconds: 2 },
  ];
  console.log(
    "\nThe model alone (6 calls an hour and 4 breaks a day for each device, unless said), messages a second:",
  );
  console.log("  on the wire  one node reads  busiest second");
  for (const { name, ...fleet } of cases) {
    const { traffic, busiest } = simulate(fleet);
    const figures = [traffic.total / fleet.seconds, traffic.readByOneNode / fleet.seconds, busiest.total];
    const cells = figures.map((figure, index) =>
      Math.round(figure).toLocaleString("en").padStart([13, 14, 14][index]),
    );
    console.log(`${cells.join("  ")}  ${name}`);
  }
}

const engines = await startEngines();
let right = true;
try {
  console.log("Counted on the server / said by the model:");
  for (const nodeCount of [2, 3]) {
    const rows = await measure(engines, nodeCount);
    for (const row of rows) right = compare(row) && right;
    if (nodeCount !== 3) continue;
    console.log("\nBytes of a message without its headers, three nodes:");
    const sum = (kind, of) => rows.reduce((all, row) => all + (row[of][kind] ?? 0), 0);
    const kinds = ["claim", "events", "device", "inbox", "news", "taken", "beat"];
    const sizes = kinds.map(
      (kind) => `${kind} ${Math.round(sum(kind, "bytes") / Math.max(1, sum(kind, "counts")))}`,
    );
    console.log(`  ${sizes.join(", ")}`);
  }
} finally {
  await engines.stop();
}
extrapolate();
if (!right) console.log("\nThe model is wrong where (!) stands.");
process.exit(right ? 0 : 1);
