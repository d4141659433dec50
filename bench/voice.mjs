// Conversations through the gateway beside a bare relay and none at all: each board sends a packet every 60 ms to a
// voice server that sends it back, and times the way round. Boards, relays and server share the machine, so a packet
// also waits for whatever else runs. Therefore, in the same seconds, from the same process and at the same pace, a tenth
// as many boards talk to the server directly and as many over a bare relay that has nobody else: what a relay adds is
// its boards' time less theirs. The relays take turns; figures are medians of the rounds.
// By itself: node bench/voice.mjs [boards] [seconds] [rounds]
import dgram from "node:dgram";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import { audioCipher } from "./audio-cipher.mjs";
import { startGateway } from "./harness/gateway.mjs";
import { median } from "./harness/statistics.mjs";
import { startServer } from "./process.mjs";
import { macOf, respond, simple } from "./quick-device.mjs";
import { connectMqttDevice, publish } from "./quick-mqtt-device.mjs";

const paceMs = 60;
const packetBytes = 120;
/** The first byte of an Opus packet: one frame of 60 ms, mono. */
const toc = 0x58;
const audioParams = { format: "opus", sample_rate: 16_000, channels: 1, frame_duration: paceMs };

const groupSize = 50;
const shareBeside = 0.1;
const fewestBeside = 5;
/** Before the first figure is taken: sockets, code and memory settle. */
const warmMs = 2_000;
const lateMs = 500;

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
        heard(data, performance.now());
        return;
      }
      const { type, session_id, payload } = JSON.parse(data.toString());
      if (type === "hello") resolve({ speak: () => socket.send(stamped()), close: () => socket.terminate() });
      if (type !== "mcp") return;
      respond(payload, simple, (reply) =>
        socket.send(JSON.stringify({ session_id, type: "mcp", payload: reply })),
      );
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
  const crypt = audioCipher(Buffer.from(udp.key, "hex"));
  const audio = dgram.createSocket("udp4");
  audio.on("message", (datagram) => {
    // The board's own work is no part of the way.
    const at = performance.now();
    heard(crypt(datagram.subarray(0, 16), datagram.subarray(16)), at);
  });
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

/** Boards that talk in the same way; each hears itself back. */
class Boards {
  #boards = [];
  #timer;
  #times = [];
  #sent = 0;

  async connect(count, connect) {
    const heard = (packet, at) => this.#times.push(at - packet.readDoubleBE(1));
    for (let from = 0; from < count; from += groupSize) {
      const size = Math.min(groupSize, count - from);
      const group = Array.from({ length: size }, (_, index) => connect(from + index, heard));
      this.#boards.push(...(await Promise.all(group)));
    }
  }

  /**
   * Spread over the pace, as boards are that began to speak at different times. By one clock for all: timers of their
   * own would run together after every hold-up, and stay so.
   */
  start() {
    this.#times = [];
    this.#sent = 0;
    const from = performance.now();
    const stepMs = paceMs / this.#boards.length;
    const speakDue = () => {
      const due = (performance.now() - from) / stepMs;
      for (; this.#sent < due; this.#sent += 1) this.#boards[this.#sent % this.#boards.length].speak();
      this.#timer = setTimeout(speakDue, 1);
    };
    speakDue();
  }

  stop() {
    clearTimeout(this.#timer);
  }

  take() {
    const times = this.#times.sort((a, b) => a - b);
    const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
    return { sent: this.#sent, heard: times.length, p50: at(0.5), p99: at(0.99) };
  }

  close() {
    for (const board of this.#boards) board.close();
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function talk(all, ms) {
  for (const boards of all) boards.start();
  await pause(ms);
  for (const boards of all) boards.stop();
  await pause(lateMs);
}

/** One relay's turn. */
async function slice({ server, boards }, { direct, bare }, seconds) {
  const cpuBefore = await server.cpuMs();
  await talk([boards, direct, bare], seconds * 1_000);
  const cpuMs = (await server.cpuMs()) - cpuBefore;
  const [through, none, least] = [boards, direct, bare].map((each) => each.take());
  return {
    sent: through.sent,
    lost: through.sent - through.heard,
    p50: through.p50,
    p99: through.p99,
    added50: through.p50 - none.p50,
    added99: through.p99 - none.p99,
    over50: through.p50 - least.p50,
    over99: through.p99 - least.p99,
    // A packet goes both ways.
    cpuEach: (cpuMs * 1_000) / Math.max(1, through.sent + through.heard),
  };
}

function rowLine(name, slices, grownKb) {
  const sum = (of) => slices.reduce((all, each) => all + each[of], 0);
  const of = (what) => median(slices.map((each) => each[what])).toFixed(2);
  const cells = [
    ...[sum("sent"), sum("lost")].map(String),
    ...["p50", "added50", "over50", "p99", "added99", "over99"].map(of),
    Number(of("cpuEach")).toFixed(1),
    grownKb.toFixed(0),
  ];
  return `${name.padEnd(32)}${cells.map((cell) => cell.padStart(10)).join("")}`;
}

const startBareRelay = (voice) => startServer("./servers/voice-relay-bare.mjs", { BENCH_VOICE: voice });
const startRelay = (voice) => startGateway({ voice: { udpPort: 0, upstream: [{ url: voice }] } });
const relays = [
  {
    key: "bare",
    name: "bare relay",
    start: startBareRelay,
    connect: (server, index, heard) => webSocketBoard(server.url, index, heard),
  },
  {
    key: "websocket",
    name: "gateway, boards over WebSocket",
    start: startRelay,
    connect: (server, index, heard) => webSocketBoard(server.devices, index, heard),
  },
  { key: "mqtt", name: "gateway, boards over MQTT, UDP", start: startRelay, connect: mqttBoard },
];
const heads = ["packets", "lost", "p50 ms", "added", "over bare", "p99 ms", "added", "over bare"];

/** `print` gets the lines of a table. Returns the slices of each relay. */
export async function benchVoice({ count, seconds, rounds, print }) {
  const title = `${count} conversations, ${rounds} × ${seconds} s`;
  print(`${title.padEnd(32)}${[...heads, "CPU µs", "heap KB"].map((head) => head.padStart(10)).join("")}`);
  const echo = await startServer("./servers/voice-echo.mjs");
  const besideBare = await startBareRelay(echo.url);
  const beside = { direct: new Boards(), bare: new Boards() };
  const few = Math.max(fewestBeside, Math.round(count * shareBeside));
  await beside.direct.connect(few, (index, heard) => webSocketBoard(echo.url, index, heard));
  await beside.bare.connect(few, (index, heard) => webSocketBoard(besideBare.url, index, heard));
  const results = {};
  const open = async ({ key, name, start, connect }) => {
    const server = await start(echo.url);
    const boards = new Boards();
    await boards.connect(count, (index, heard) => connect(server, index, heard));
    await talk([boards, ...Object.values(beside)], warmMs);
    return { key, name, server, boards, slices: [], memoryBefore: await server.memoryKb() };
  };
  const close = async ({ key, name, server, boards, slices, memoryBefore }) => {
    results[key] = slices;
    const { heapKb } = await server.memoryKb();
    print(rowLine(name, slices, heapKb - memoryBefore.heapKb));
    boards.close();
    await server.stop();
  };
  if (rounds === 1) {
    // One after the other: boards that are silent for two minutes are taken for gone.
    for (const relay of relays) {
      const opened = await open(relay);
      opened.slices.push(await slice(opened, beside, seconds));
      await close(opened);
    }
  } else {
    const opened = [];
    for (const relay of relays) opened.push(await open(relay));
    for (let round = 0; round < rounds; round += 1) {
      for (let turn = 0; turn < opened.length; turn += 1) {
        const each = opened[(round + turn) % opened.length];
        each.slices.push(await slice(each, beside, seconds));
      }
    }
    for (const each of opened) await close(each);
  }
  for (const boards of Object.values(beside)) boards.close();
  await besideBare.stop();
  await echo.stop();
  return results;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , count = "500", seconds = "60", rounds = "1"] = process.argv;
  await benchVoice({
    count: Number(count),
    seconds: Number(seconds),
    rounds: Number(rounds),
    print: console.log,
  });
  process.exit(0);
}
