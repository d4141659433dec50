// `npm run bench`: every figure stands beside a baseline measured in the same run; the ratios are what to compare
// between machines. Everything runs on loopback, bounded in time.
import WebSocket from "ws";
import { benchCrossNode } from "./cross-node.mjs";
import { benchFairness } from "./fairness.mjs";
import { benchHome } from "./home.mjs";
import { measure, poster } from "./load.mjs";
import { benchMcp } from "./mcp.mjs";
import { benchOverload } from "./overload.mjs";
import { startServer } from "./process.mjs";
import { connectDevice, macOf } from "./quick-device.mjs";
import { connectMqttDevice, provision, publish } from "./quick-mqtt-device.mjs";
import { heads, row } from "./table.mjs";
import { benchVoice } from "./voice.mjs";

const parallel = 64;
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const deviceCount = 64;
const idleCount = 1_000;
const mqttCount = 2_000;
const mqttRounds = 3;

async function benchWsEcho() {
  const server = await startServer("./servers/ws-echo.mjs");
  const sockets = await Promise.all(Array.from({ length: parallel }, () => openSocket(server.url)));
  const text = JSON.stringify({
    session_id: "s",
    type: "mcp",
    payload: { jsonrpc: "2.0", id: 1, method: "tools/call" },
  });
  const work = (index) =>
    new Promise((resolve) => {
      sockets[index].once("message", resolve);
      sockets[index].send(text);
    });
  const result = await measure(server, { parallel, seconds, work });
  for (const socket of sockets) socket.terminate();
  await server.stop();
  return result;
}

async function benchHttpBare() {
  const server = await startServer("./servers/http-bare.mjs");
  const { post, close } = poster(parallel, {});
  const result = await measure(server, {
    parallel,
    seconds,
    work: () => post(`${server.url}/call`, { arguments: { volume: 30 } }),
  });
  close();
  await server.stop();
  return result;
}

async function benchGateway() {
  const server = await startServer("./servers/gateway.mjs");
  const sockets = await Promise.all(
    Array.from({ length: deviceCount }, (_, index) => connectDevice(server.devices, index)),
  );
  const { post, close } = poster(parallel, { authorization: `Bearer ${server.token}` });
  const urls = sockets.map(
    (_, index) => `${server.url}/api/v1/devices/${macOf(index)}/tools/self.audio_speaker.set_volume/call`,
  );
  const result = await measure(server, {
    parallel,
    seconds,
    work: (index) => post(urls[index % deviceCount], { arguments: { volume: 30 } }),
  });
  close();
  for (const socket of sockets) socket.terminate();
  await server.stop();
  return result;
}

async function idleMemory(file, connect) {
  const server = await startServer(file);
  const before = await server.memoryKb();
  const sockets = [];
  for (let from = 0; from < idleCount; from += 100) {
    sockets.push(
      ...(await Promise.all(Array.from({ length: 100 }, (_, index) => connect(server, from + index)))),
    );
  }
  const after = await server.memoryKb();
  for (const socket of sockets) socket.terminate();
  await server.stop();
  return {
    rssKbEach: (after.rssKb - before.rssKb) / idleCount,
    heapKbEach: (after.heapKb - before.heapKb) / idleCount,
  };
}

function openSocket(url) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.once("open", () => resolve(socket));
    socket.once("error", reject);
  });
}

async function inGroups(count, work) {
  const results = [];
  for (let from = 0; from < count; from += 100) {
    const group = Array.from({ length: Math.min(100, count - from) }, (_, index) => work(from + index));
    results.push(...(await Promise.all(group)));
  }
  return results;
}

async function benchMqtt() {
  const bareServer = await startServer("./servers/aedes-bare.mjs");
  const bareStarted = performance.now();
  const bareClients = await inGroups(mqttCount, async (index) => {
    const settings = {
      endpoint: bareServer.endpoint,
      client_id: `c${index}`,
      username: "u",
      password: "p",
      keepalive: 60,
    };
    const { socket } = await connectMqttDevice({ ...settings, publish_topic: "x" });
    socket.write(publish("device-server", { type: "hello" }));
    return socket;
  });
  const bareMs = performance.now() - bareStarted;
  const bareCpu = await bareServer.cpuMs();
  for (const socket of bareClients) socket.destroy();
  await bareServer.stop();

  const server = await startServer("./servers/gateway.mjs");
  const settings = await inGroups(mqttCount, (index) => provision(server, index));
  const cpuBefore = await server.cpuMs();
  const started = performance.now();
  const devices = await inGroups(mqttCount, (index) => connectMqttDevice(settings[index]));
  await Promise.all(devices.map(({ listed }) => listed));
  const connectMs = performance.now() - started;
  const connectCpu = (await server.cpuMs()) - cpuBefore;
  const { post, close } = poster(parallel, { authorization: `Bearer ${server.token}` });
  const call = (index) =>
    post(`${server.url}/api/v1/devices/${macOf(index)}/tools/self.audio_speaker.set_volume/call`, {
      arguments: { volume: 30 },
    });
  await inGroups(mqttCount, call);
  let next = 0;
  const work = () => {
    next = (next + 1) % mqttCount;
    return call(next);
  };
  const bridge = await openBridge();
  // Turn and turn about, so that whatever else the machine does meets both alike.
  const parts = { bridge: [], gateway: [] };
  for (let round = 0; round < mqttRounds; round += 1) {
    const slice = { parallel, seconds: Math.max(1, seconds / mqttRounds) };
    parts.bridge.push(await measure(bridge.server, { ...slice, work: bridge.work }));
    parts.gateway.push(await measure(server, { ...slice, work }));
  }
  await bridge.close();
  close();
  for (const { socket } of devices) socket.destroy();
  await server.stop();
  const result = middleOf(parts.gateway);
  return { result, bridge: middleOf(parts.bridge), connectMs, connectCpu, bareMs, bareCpu };
}

/** The same way with nothing on it. */
async function openBridge() {
  const server = await startServer("./servers/bridge-bare.mjs");
  const devices = await inGroups(deviceCount, (index) =>
    connectMqttDevice({
      endpoint: server.endpoint,
      client_id: `board-${index}`,
      username: "u",
      password: "p",
      keepalive: 60,
      publish_topic: "device-server",
    }),
  );
  await Promise.all(devices.map(({ listed }) => listed));
  const { post, close } = poster(parallel, {});
  return {
    server,
    work: (index) =>
      post(`${server.url}/board-${index % deviceCount}/self.audio_speaker.set_volume`, {
        arguments: { volume: 30 },
      }),
    close: async () => {
      close();
      for (const { socket } of devices) socket.destroy();
      await server.stop();
    },
  };
}

function middleOf(results) {
  return results.toSorted((a, b) => a.cpuMsEach - b.cpuMsEach)[results.length >> 1];
}

heads();
const echo = await benchWsEcho();
row(`bare ws echo, ${parallel} sockets`, echo);
const bare = await benchHttpBare();
row(`bare fastify POST, ${parallel} in flight`, bare);
const gateway = await benchGateway();
row(`REST -> WebSocket device -> REST, ${parallel} in flight`, gateway);
const floor = echo.cpuMsEach + bare.cpuMsEach;
console.log(`gateway CPU a call / (bare echo + bare POST): ${(gateway.cpuMsEach / floor).toFixed(2)}`);

await benchMcp(row, seconds);

const mqtt = await benchMqtt();
row(`bare HTTP -> MQTT -> HTTP bridge`, mqtt.bridge);
row(`REST -> MQTT device -> REST, ${mqttCount} devices`, mqtt.result);
console.log(
  `gateway CPU a call over MQTT / bare bridge: ${(mqtt.result.cpuMsEach / mqtt.bridge.cpuMsEach).toFixed(2)}`,
);
console.log(
  `${mqttCount} MQTT devices connected, initialised and listed in ${mqtt.connectMs.toFixed(0)} ms (CPU ${mqtt.connectCpu.toFixed(0)} ms); ` +
    `bare aedes, ${mqttCount} clients with one publish each: ${mqtt.bareMs.toFixed(0)} ms (CPU ${mqtt.bareCpu.toFixed(0)} ms)`,
);

await benchCrossNode({ rounds: 7, seconds: Math.min(0.5, seconds) });

console.log("");
const bareSockets = await idleMemory("./servers/ws-echo.mjs", (server) => openSocket(server.url));
const idleDevices = await idleMemory("./servers/gateway.mjs", (server, index) =>
  connectDevice(server.devices, index),
);
console.log(`memory of ${idleCount} idle connections, KB each     RSS      heap`);
for (const [name, { rssKbEach, heapKbEach }] of [
  ["bare ws sockets", bareSockets],
  ["devices, initialised and listed", idleDevices],
]) {
  console.log(`${name.padEnd(44)}${rssKbEach.toFixed(1).padStart(10)}${heapKbEach.toFixed(1).padStart(10)}`);
}
console.log(
  `RSS of a device / of a bare socket: ${(idleDevices.rssKbEach / bareSockets.rssKbEach).toFixed(2)}`,
);

console.log("");
await benchVoice({ count: 50, seconds: Math.min(2, seconds), rounds: 5 });

console.log("");
await benchHome();

console.log("");
await benchFairness(seconds);

console.log("");
await benchOverload(seconds);
