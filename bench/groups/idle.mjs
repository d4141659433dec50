// 50,000 idle devices on one node, or as many as the limit of open files allows. Takes ten minutes.
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { startLoad } from "../harness/load.mjs";
import { affordable } from "../harness/machine.mjs";
import { pause, settle } from "../harness/rounds.mjs";
import { callCost, startSmall } from "./large-fleet.mjs";

const rows = [
  {
    name: "idle-calls",
    title: "CPU a call with 50,000 devices",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.5 },
    baseline: "the same with 100 devices",
  },
  { name: "idle-rss", title: "RSS a device, 50,000 idle devices", unit: "KB", clock: "cpu", better: "less" },
  {
    name: "idle-cpu",
    title: "CPU of 50,000 idle devices, of one processor",
    unit: "%",
    clock: "cpu",
    better: "less",
  },
  {
    name: "idle-kept",
    title: "devices that stayed connected",
    unit: "%",
    better: "more",
    target: { least: 100 },
  },
];

const scales = {
  full: { devices: 50_000, minutes: 6, rounds: 5, seconds: 3 },
  quick: { devices: 5_000, minutes: 0.5, rounds: 3, seconds: 1 },
};
/** Gentle: this is about staying connected. */
const atOnce = 500;
const warmUp = 300;

async function run({ scale, log, results }) {
  const { minutes, rounds, seconds, devices } = scales[scale];
  const count = affordable(devices) - warmUp;
  const [fleet, crowd] = [await Fleet.start(), await Fleet.start()];
  const load = await startLoad();
  const small = await startSmall(fleet);
  const large = await startGateway();
  await crowd.connect("websocket", { url: large.devices }, 0, warmUp);
  await settle(large);
  const before = await large.memoryKb();
  log(`connects ${count} devices`);
  await crowd.connect("websocket", { url: large.devices }, warmUp, count, atOnce);
  await settle(large);
  const after = await large.memoryKb();
  log(`idle for ${minutes} min`);
  const cpuBefore = await large.cpuMs();
  await pause(minutes * 60_000);
  const idleShare = ((await large.cpuMs()) - cpuBefore) / (minutes * 60_000);
  const online = await large.online();
  log("calls");
  results["idle-calls"] = await callCost(load, { small, large }, { devices: count, rounds, seconds });
  const detail = `${count} devices${count + warmUp < devices ? ", as many as the limit of open files allows" : ""}`;
  results["idle-rss"] = { values: [(after.rssKb - before.rssKb) / count], count, detail };
  results["idle-cpu"] = { values: [idleShare * 100], count, detail: `${detail}, ${minutes} min` };
  results["idle-kept"] = {
    values: [(online / (count + warmUp)) * 100],
    detail: `${online} of ${count + warmUp}`,
  };
  await load.stop();
  await crowd.stop();
  await fleet.stop();
  await Promise.all([small.stop(), large.stop()]);
}

export const idle = { name: "idle", title: "Idle devices", optIn: true, rows, run };
