// Calls that waited for their devices: what they cost when all devices come back in one storm, beside the same calls
// made after such a storm.
import { macOf, volumeTool } from "../devices/firmwares.mjs";
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { pause, settle } from "../harness/rounds.mjs";
import { poster } from "../load.mjs";

const rows = [
  {
    name: "queue-storm",
    title: "10,000 queued calls run when 5,000 devices come back at once: CPU of storm and calls",
    unit: "s",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.3 },
    baseline: "the same storm, then the same calls made live",
  },
  {
    name: "queue-whole",
    title: "the same with the 10,000 requests that queued them",
    unit: "s",
    clock: "cpu",
    better: "less",
    baseline: "the same storm, then the same calls made live",
  },
];

const scales = { full: { devices: 5_000, rounds: 3 }, quick: { devices: 1_000, rounds: 2 } };
const callsEach = 2;
const parallel = 32;
/** A token may have 1,000 waiting calls. */
const callsOfToken = 1_000;
const longestMs = 120_000;

async function run({ scale, log, results }) {
  const { devices, rounds } = scales[scale];
  const [storms, whole, live] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    log(`${devices * callsEach} calls for ${devices} devices, round ${round + 1} of ${rounds}`);
    const fleet = await Fleet.start();
    const gateway = await startGateway();
    const callers = await tokens(gateway, Math.ceil((devices * callsEach) / callsOfToken));
    const storm = async () => await fleet.connect("websocket", { url: gateway.devices }, 0, devices);
    await storm();
    // Warm, so that neither side is the first that calls.
    await callAll(gateway, callers, devices, {});
    for (const way of round % 2 === 0 ? ["queued", "live"] : ["live", "queued"]) {
      await fleet.close(gateway);
      await settle(gateway);
      const before = await gateway.cpuMs();
      if (way === "live") {
        await storm();
        await callAll(gateway, callers, devices, {});
        await settle(gateway);
        live.push(((await gateway.cpuMs()) - before) / 1_000);
        continue;
      }
      await callAll(gateway, callers, devices, { whenOffline: "queue" });
      const asked = await gateway.cpuMs();
      await storm();
      await untilNoneWaits(gateway);
      await settle(gateway);
      const ended = await gateway.cpuMs();
      storms.push((ended - asked) / 1_000);
      whole.push((ended - before) / 1_000);
    }
    await fleet.stop();
    await gateway.stop();
  }
  const count = devices * callsEach;
  const detail = `${count} calls, ${devices} devices`;
  results["queue-storm"] = { values: storms, baselines: live, count, detail };
  results["queue-whole"] = { values: whole, baselines: live, count, detail };
}

async function tokens(gateway, count) {
  const made = [];
  for (let each = 0; each < count; each += 1) {
    const reply = await fetch(`${gateway.url}/api/v1/tokens`, {
      method: "POST",
      headers: { authorization: gateway.authorization, "content-type": "application/json" },
      body: JSON.stringify({ name: `caller ${each}`, scopes: ["read", "call"] }),
    });
    const { token } = await reply.json();
    made.push(poster(parallel, { authorization: `Bearer ${token}` }));
  }
  return made;
}

async function callAll(gateway, callers, devices, more) {
  let next = 0;
  const worker = async () => {
    while (next < devices * callsEach) {
      const number = next;
      next += 1;
      const { post } = callers[Math.floor(number / callsOfToken)];
      const at = `${gateway.url}/api/v1/devices/${macOf(number % devices)}/tools/${volumeTool}/call`;
      await post(at, { arguments: { volume: number % 100 }, ...more });
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

async function untilNoneWaits(gateway) {
  const until = performance.now() + longestMs;
  for (;;) {
    const { calls } = await (await gateway.get("/api/v1/calls?state=queued&limit=1")).json();
    if (calls.length === 0) return;
    if (performance.now() > until) throw new Error("queued calls still wait");
    await pause(200);
  }
}

export const queue = { name: "queue", title: "Calls for devices that are away", rows, run };
