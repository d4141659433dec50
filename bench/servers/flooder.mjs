// A hostile device in a process of its own: it sends as fast as the connection takes it, and comes back when it is cut.
import { connectDevice } from "../quick-device.mjs";
import { connectMqttDevice, provision, publish } from "../quick-mqtt-device.mjs";

/** Each flood comes from another device, because one that was cut off must wait. */
let nextFlooder = 9_000_000;
/** The gateway may cut it before it is listed. */
const patienceMs = 1_000;
const chunkBytes = 64 * 1024;
const mask = Buffer.alloc(4);

function webSocketFrame(opcode, payload) {
  const head =
    payload.length < 126
      ? Buffer.from([0x80 | opcode, 0x80 | payload.length])
      : Buffer.from([0x80 | opcode, 0xff, 0, 0, 0, 0, ...uint32(payload.length)]);
  return Buffer.concat([head, mask, payload]);
}

function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function repeated(frame) {
  return Buffer.concat(Array.from({ length: Math.ceil(chunkBytes / frame.length) }, () => frame));
}

const notification = JSON.stringify({
  session_id: "s",
  type: "mcp",
  payload: { jsonrpc: "2.0", method: "notifications/x", params: { list: Array(22_000).fill("abcde") } },
});

const floods = {
  "WebSocket pings": { chunk: repeated(webSocketFrame(9, Buffer.alloc(4))) },
  "WebSocket frames of 176 KB": { chunk: webSocketFrame(1, Buffer.from(notification)) },
  "MQTT PINGREQ": { chunk: repeated(Buffer.from([0xc0, 0])), mqtt: true },
  "MQTT PUBLISH to foreign topics": {
    chunk: repeated(publish("devices/p2p/somebody", { a: 1 })),
    mqtt: true,
  },
};

async function connect(server, flooder, isMqtt) {
  const connected = isMqtt
    ? connectMqttDevice(await provision(server, flooder))
    : connectDevice(server.devices, flooder).then(({ _socket: socket }) => ({ socket }));
  const late = new Promise((_resolve, reject) => setTimeout(reject, patienceMs));
  return (await Promise.race([connected, late])).socket;
}

let isOn = false;
const counts = { cuts: 0, bytes: 0 };

async function flood(server, name) {
  const { chunk, mqtt } = floods[name];
  const flooder = nextFlooder;
  nextFlooder += 1;
  while (isOn) {
    const socket = await connect(server, flooder, mqtt).catch(() => undefined);
    if (socket === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", () => resolve("closed")));
    while (isOn && !socket.destroyed) {
      counts.bytes += chunk.length;
      if (socket.write(chunk)) await new Promise((resolve) => setImmediate(resolve));
      else await Promise.race([closed, new Promise((resolve) => socket.once("drain", resolve))]);
    }
    if (isOn) counts.cuts += 1;
    socket.destroy();
  }
}

process.on("message", (order) => {
  if (order === "stop") process.exit(0);
  if (order.flood === undefined) {
    isOn = false;
    process.send({ ...counts });
    return;
  }
  Object.assign(counts, { cuts: 0, bytes: 0 });
  isOn = true;
  void flood(order.server, order.flood);
  process.send({});
});
process.on("disconnect", () => process.exit(0));
process.send({ ready: {} });
