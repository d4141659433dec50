// Conversations through the gateway beside a bare relay and none at all: each board sends a packet every 60 ms to a
// voice server that sends it back, and times the way round. By itself: node bench/voice.mjs [boards] [seconds]
import { createCipheriv } from "node:crypto";
import dgram from "node:dgram";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import { startServer } from "./process.mjs";
import { answer, macOf } from "./quick-device.mjs";
import { connectMqttDevice, publish } from "./quick-mqtt-device.mjs";

const paceMs = 60;
const packetBytes = 120;
/** The first byte of an Opus packet: one frame of 60 ms, mono. */
const toc = 0x58;
const audioParams = { format: "opus", sample_rate: 16_000, channels: 1, frame_duration: paceMs };

/** A packet that says when it left. */
function stamped() {
  const packet = Buffer.alloc(packetBytes, 1);
  packet[0] = toc;
  packet.writeDoubleBE(performance.now(), 1);
  return packet;
}

/** A board over WebSocket; resolves when it may speak. */
function webSocketBoard(url, index, heard) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      headers: { "Device-Id": macOf(index), "Client-Id": `bench-${index}`, "Protocol-Version": "1" },
    });
    socket.on("error", reject);
    socket.on("open", () =>
      socket.send(
        JSON.stringify({
          type: "hello",
          version: 1,
          features: { mcp: true },
          transport: "websocket",
          audio_params: audioParams,
        }),
      ),
    );
    socket.on("message", (data, isBinary) => {
      if (isBinary) {
        heard(data);
        return;
      }
      const { type, session_id, payload } = JSON.parse(data.toString());
      if (type === "hello") resolve({ speak: () => socket.send(stamped()), close: () => socket.terminate() });
      if (type !== "mcp") return;
      const reply = { jsonrpc: "2.0", id: payload.id, result: answer(payload.method) };
      socket.send(JSON.stringify({ session_id, type: "mcp", payload: reply }));
    });
  });
}

/** A board over MQTT with its audio over UDP. */
async function mqttBoard(server, index, heard) {
  const response = await fetch(`${server.url}/xiaozhi/ota/`, {
    method: "POST",
    headers: { "device-id": macOf(index), "client-id": `bench-${index}` },
    body: "{}",
  });
  const settings = (await response.json()).mqtt;
  let greeted;
  const answered = new Promise((resolve) => {
    greeted = resolve;
  });
  const { socket } = await connectMqttDevice(settings, (message) => {
    if (message.type === "hello") greeted(message.udp);
  });
  const hello = {
    type: "hello",
    version: 3,
    transport: "udp",
    features: { mcp: true },
    audio_params: audioParams,
  };
  socket.write(publish(settings.publish_topic, hello));
  const udp = await answered;
  const key = Buffer.from(udp.key, "hex");
  const crypt = (header, bytes) => createCipheriv("aes-128-ctr", key, header).update(bytes);
  const audio = dgram.createSocket("udp4");
  audio.on("message", (datagram) => heard(crypt(datagram.subarray(0, 16), datagram.subarray(16))));
  await new Promise((resolve) => audio.connect(udp.port, udp.server, resolve));
  let sequence = 0;
  return {
    speak() {
      sequence += 1;
      const header = Buffer.from(udp.nonce, "hex");
      header.writeUInt16BE(packetBytes, 2);
      header.writeUInt32BE(sequence, 12);
      audio.send(Buffer.concat([header, crypt(header, stamped())]));
    },
    close() {
      audio.close();
      socket.destroy();
    },
  };
}

async function converse({ count, seconds, connect, server }) {
  const times = [];
  let sent = 0;
  const heard = (packet) => times.push(performance.now() - packet.readDoubleBE(1));
  const boards = [];
  for (let from = 0; from < count; from += 50) {
    const group = Array.from({ length: Math.min(50, count - from) }, (_, index) =>
      connect(from + index, heard),
    );
    boards.push(...(await Promise.all(group)));
  }
  const before = await server?.memoryKb();
  const cpuBefore = await server?.cpuMs();
  const timers = [];
  // Spread over the pace, as boards are that began to speak at different times.
  await Promise.all(
    boards.map(
      (board, index) =>
        new Promise((resolve) => {
          setTimeout(
            () => {
              timers.push(
                setInterval(() => {
                  sent += 1;
                  board.speak();
                }, paceMs),
              );
              resolve();
            },
            (index * paceMs) / count,
          );
        }),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  for (const timer of timers) clearInterval(timer);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const cpuMs = server === undefined ? 0 : (await server.cpuMs()) - cpuBefore;
  const after = await server?.memoryKb();
  for (const board of boards) board.close();
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  const grownKb = before === undefined ? 0 : after.heapKb - before.heapKb;
  // A packet goes both ways.
  const cpuEach = (cpuMs * 1_000) / Math.max(1, sent + times.length);
  return { sent, lost: sent - times.length, p50: at(0.5), p99: at(0.99), grownKb, cpuEach };
}

function row(name, { sent, lost, p50, p99, grownKb, cpuEach }, base) {
  const added = base === undefined ? "" : (p99 - base.p99).toFixed(2);
  const cells = [
    String(sent),
    String(lost),
    p50.toFixed(2),
    p99.toFixed(2),
    added,
    cpuEach.toFixed(0),
    grownKb.toFixed(0),
  ];
  console.log(`${name.padEnd(44)}${cells.map((cell) => cell.padStart(10)).join("")}`);
}

export async function benchVoice({ count, seconds }) {
  const heads = ["packets", "lost", "p50 ms", "p99 ms", "added p99", "CPU µs", "heap KB"];
  console.log(
    `${`${count} conversations, ${seconds} s`.padEnd(44)}${heads.map((head) => head.padStart(10)).join("")}`,
  );
  const echo = await startServer("./servers/voice-echo.mjs");
  const env = { BENCH_VOICE: echo.url };
  const run = (server, connect) => converse({ count, seconds, server, connect });
  const direct = await run(undefined, (index, heard) => webSocketBoard(echo.url, index, heard));
  row("no relay", direct);
  const bare = await startServer("./servers/voice-relay-bare.mjs", env);
  row("bare relay", await run(bare, (index, heard) => webSocketBoard(bare.url, index, heard)), direct);
  await bare.stop();
  const gateway = await startServer("./servers/gateway.mjs", env);
  const overWebSocket = (index, heard) => webSocketBoard(gateway.devices, index, heard);
  row("gateway, boards over WebSocket", await run(gateway, overWebSocket), direct);
  await gateway.stop();
  const second = await startServer("./servers/gateway.mjs", env);
  row(
    "gateway, boards over MQTT with UDP",
    await run(second, (index, heard) => mqttBoard(second, index, heard)),
    direct,
  );
  await second.stop();
  await echo.stop();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , count = "500", seconds = "60"] = process.argv;
  await benchVoice({ count: Number(count), seconds: Number(seconds) });
  process.exit(0);
}
