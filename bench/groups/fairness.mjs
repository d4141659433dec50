// One hostile device beside others: what their callers notice.
import { macOf, volumeTool } from "../devices/firmwares.mjs";
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { median } from "../harness/statistics.mjs";
import { load, poster } from "../load.mjs";
import { startServer } from "../process.mjs";

const floods = {
  "flood-ws-pings": "WebSocket pings",
  "flood-ws-frames": "WebSocket frames of 176 KB",
  "flood-mqtt-pings": "MQTT PINGREQ",
  "flood-mqtt-publish": "MQTT PUBLISH to foreign topics",
};

const rows = Object.entries(floods).map(([name, flood]) => ({
  name,
  title: `p99 of calls to 16 other devices while one floods: ${flood}`,
  unit: "ms",
  better: "less",
  baseline: "the same without a flood",
}));

const scales = { full: { rounds: 3, seconds: 3 }, quick: { rounds: 2, seconds: 1.5 } };
const others = 16;
/** Others call as people and agents do, not as fast as possible. */
const pauseMs = 20;

async function run({ scale, wants, log, results }) {
  const { rounds, seconds } = scales[scale];
  const server = await startGateway();
  const flooder = await startServer("./servers/flooder.mjs");
  const fleet = await Fleet.start();
  await fleet.connect("websocket", { url: server.devices }, 0, others);
  const { post, close } = poster(others, { authorization: server.authorization });
  const call = (index) =>
    post(`${server.url}/api/v1/devices/${macOf(index)}/tools/${volumeTool}/call`, {
      arguments: { volume: 30 },
    });
  const between = () => new Promise((resolve) => setTimeout(resolve, pauseMs));
  const measured = (length) => load({ parallel: others, seconds: length, work: call, between });
  await measured(1);
  const address = { url: server.url, devices: server.devices };
  for (const [name, flood] of Object.entries(floods)) {
    if (!wants(name)) continue;
    log(flood);
    const [quiet, flooded] = [[], []];
    let taken = { cuts: 0, bytes: 0 };
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(await measured(seconds));
      await flooder.ask({ flood, server: address });
      flooded.push(await measured(seconds));
      taken = await flooder.ask({});
    }
    results[name] = {
      values: flooded.map(({ p99 }) => p99),
      baselines: quiet.map(({ p99 }) => p99),
      detail:
        `p50 ${p50Of(flooded)} ms, without a flood ${p50Of(quiet)} ms; cut off ${taken.cuts} times in ${seconds} s, ` +
        `${Math.round(taken.bytes / 2 ** 20)} MB accepted`,
    };
  }
  close();
  await fleet.stop();
  await flooder.stop();
  await server.stop();
}

function p50Of(slices) {
  return median(slices.map(({ p50 }) => p50)).toFixed(1);
}

export const fairness = { name: "fairness", title: "One device floods", rows, run };
