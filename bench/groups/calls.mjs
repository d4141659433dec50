// Calls over REST to devices and back, beside the bare parts of the same way, with 64 and with 1 in flight.
import { macOf, volumeTool } from "../devices/firmwares.mjs";
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { describeCalls, each, startLoad } from "../harness/load.mjs";
import { alternate } from "../harness/rounds.mjs";
import { postRequest } from "../http-connection.mjs";
import { startServer } from "../process.mjs";

const parts = "bare fastify POST + bare ws echo";
const bridge = "bare HTTP - MQTT bridge";

const rows = [
  {
    name: "rest-ws-64",
    title: "REST → WebSocket device, 64 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.8 },
    baseline: parts,
  },
  {
    name: "rest-ws-1",
    title: "REST → WebSocket device, 1 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 2.2 },
    baseline: parts,
  },
  {
    name: "rest-mqtt-64",
    title: "REST → MQTT device, 64 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.3 },
    baseline: bridge,
  },
  {
    name: "rest-mqtt-1",
    title: "REST → MQTT device, 1 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.6 },
    baseline: bridge,
  },
  {
    name: "rest-mqtt-p99",
    title: "REST → MQTT device, 1 in flight: p99",
    unit: "ms",
    better: "less",
    target: { most: 1.09 },
    baseline: bridge,
  },
];

const scales = { full: { rounds: 7, seconds: 1.5 }, quick: { rounds: 3, seconds: 1 } };
const deviceCount = 64;
const levels = [64, 1];
const body = '{"arguments":{"volume":30}}';
const echoed = JSON.stringify({
  session_id: "01234567-0123-0123-0123-0123456789ab",
  type: "mcp",
  payload: {
    jsonrpc: "2.0",
    id: 1_234_567,
    method: "tools/call",
    params: { name: volumeTool, arguments: { volume: 30 } },
  },
});

/** Calls to devices of the gateway, one after the other. */
export function gatewayRequests(gateway, from, count) {
  const headers = { authorization: gateway.authorization };
  const requests = Array.from({ length: count }, (_, step) =>
    postRequest(`/api/v1/devices/${macOf(from + step)}/tools/${volumeTool}/call`, headers, body),
  );
  return { port: gateway.port, requests, expected: '"true"' };
}

async function run({ scale, wants, log, results }) {
  const load = await startLoad();
  const fleet = await Fleet.start();
  const sizes = scales[scale];
  if (["rest-ws-64", "rest-ws-1"].some(wants)) {
    log("REST to WebSocket devices");
    Object.assign(results, await overWebSocket(load, fleet, sizes));
  }
  if (["rest-mqtt-64", "rest-mqtt-1", "rest-mqtt-p99"].some(wants)) {
    log("REST to MQTT devices");
    Object.assign(results, await overMqtt(load, fleet, sizes));
  }
  await fleet.stop();
  await load.stop();
}

async function overWebSocket(load, fleet, { rounds, seconds }) {
  const gateway = await startGateway();
  const bare = await startServer("./servers/http-bare.mjs");
  const echo = await startServer("./servers/ws-echo.mjs");
  await fleet.connect("websocket", { url: gateway.devices }, 0, deviceCount);
  await load.prepare("rest-ws", gatewayRequests(gateway, 0, deviceCount));
  const port = Number(new URL(bare.url).port);
  await load.prepare("post", { port, requests: [postRequest("/call", {}, body)], expected: '"true"' });
  for (const name of ["rest-ws", "post"]) await load.warm(name, deviceCount);
  const results = {};
  for (const parallel of levels) {
    const slice = { parallel, seconds };
    const measured = await alternate(
      {
        ours: () => load.call(gateway, "rest-ws", slice),
        post: () => load.call(bare, "post", slice),
        echo: () => load.echo(echo, { url: echo.url, text: echoed, ...slice }),
      },
      { rounds },
    );
    results[`rest-ws-${parallel}`] = {
      values: each(measured.ours, "cpuMsEach"),
      baselines: measured.post.map((post, round) => post.cpuMsEach + measured.echo[round].cpuMsEach),
      detail: `${describeCalls(measured.ours)}; bare POST ${describeCalls(measured.post)}`,
    };
  }
  await fleet.close();
  for (const server of [gateway, bare, echo]) await server.stop();
  return results;
}

async function overMqtt(load, fleet, { rounds, seconds }) {
  const gateway = await startGateway();
  const bare = await startServer("./servers/bridge-bare.mjs");
  await fleet.provision(gateway.url, 0, deviceCount);
  await fleet.connect("mqtt", {}, 0, deviceCount);
  await fleet.connect("mqtt-bridge", { endpoint: bare.endpoint }, deviceCount, deviceCount);
  await load.prepare("rest-mqtt", gatewayRequests(gateway, 0, deviceCount));
  const requests = Array.from({ length: deviceCount }, (_, step) =>
    postRequest(`/board-${deviceCount + step}/${volumeTool}`, {}, body),
  );
  await load.prepare("bridge", { port: Number(new URL(bare.url).port), requests, expected: '"true"' });
  for (const name of ["rest-mqtt", "bridge"]) await load.warm(name, deviceCount);
  const results = {};
  for (const parallel of levels) {
    const slice = { parallel, seconds };
    const measured = await alternate(
      {
        ours: () => load.call(gateway, "rest-mqtt", slice),
        bridge: () => load.call(bare, "bridge", slice),
      },
      { rounds },
    );
    const row = (key) => ({
      values: each(measured.ours, key),
      baselines: each(measured.bridge, key),
      detail: `${describeCalls(measured.ours)}; bare bridge ${describeCalls(measured.bridge)}`,
    });
    results[`rest-mqtt-${parallel}`] = row("cpuMsEach");
    if (parallel === 1) results["rest-mqtt-p99"] = row("p99");
  }
  await fleet.close();
  for (const server of [gateway, bare]) await server.stop();
  return results;
}

export const calls = { name: "calls", title: "Calls over REST", rows, run };
