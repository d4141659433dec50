import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { type BoardConnection, chime } from "@tendon/simulator";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type MqttWire, mqttTransport } from "../mqtt-wire.ts";
import { type Fields, type RawDevice, tool } from "../raw-device.ts";
import type { Site, SiteOptions } from "../site.ts";
import { connectionOf, randomKey, type UdpOffer, UdpSender } from "./udp-board.ts";
import { openUpstream, openVoiceSite, type Upstream } from "./voice-site.ts";

const hello: Fields = {
  type: "hello",
  version: 3,
  transport: "udp",
  features: { mcp: true },
  audio_params: { format: "opus", sample_rate: 16_000, channels: 1, frame_duration: 60 },
};

const dropped = "tendon_audio_frames_dropped_total";

interface Talk {
  readonly site: Site;
  readonly upstream: Upstream;
  readonly device: RawDevice;
  readonly connection: BoardConnection;
  readonly offer: UdpOffer;
  readonly board: UdpSender;
}

/** A board over MQTT that has sent hello through the gateway and no audio yet. */
async function talking(options: SiteOptions = {}): Promise<Talk> {
  const upstream = await openUpstream({ script: { questionPackets: 1_000_000 } });
  const site = await openVoiceSite(upstream.server.url, options);
  const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
  device.send(hello);
  const answer = await device.nextFrame("hello");
  device.sessionId = String(answer["session_id"]);
  const connection = await upstream.connections.take();
  const offer = answer["udp"] as UdpOffer;
  return { site, upstream, device, connection, offer, board: await UdpSender.open(offer) };
}

/** The packets in sequence. */
function packet(sequence: number): Buffer {
  return chime[sequence % chime.length] ?? Buffer.alloc(0);
}

async function sendAll(sender: UdpSender, from: number, to: number): Promise<void> {
  for (let sequence = from; sequence <= to; sequence += 1) await sender.send(packet(sequence), sequence);
}

async function hears(connection: BoardConnection, packets: number): Promise<void> {
  await until(() => connection.packetsHeard === packets, `packet ${packets}`);
}

/** Two packets of the server; their receiver has the downlink. */
async function speaksTo(connection: BoardConnection, board: UdpSender, stranger?: UdpSender): Promise<void> {
  connection.sayAudio(packet(7));
  connection.sayAudio(packet(8));
  expect((await board.received.take()).opus).toEqual(packet(7));
  expect((await board.received.take()).opus).toEqual(packet(8));
  expect(stranger?.received.waiting ?? []).toEqual([]);
}

describe("audio over UDP", () => {
  it("[UDP-1] is encrypted with its own key, and no two packets share a counter block", async () => {
    const { connection, board, offer } = await talking();
    expect(offer.key).toMatch(/^[0-9a-f]{32}$/);
    expect(offer.nonce).toMatch(/^0100/);
    const sent = await board.send(packet(1), 1);
    await hears(connection, 1);
    for (let count = 0; count < 3; count += 1) connection.sayAudio(packet(count));
    const came = [await board.received.take(), await board.received.take(), await board.received.take()];
    expect(came.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(came.map(({ opus }) => opus)).toEqual([packet(0), packet(1), packet(2)]);
    // The counter continues in the sequence field, so the bytes before it must differ.
    const beginnings = [...came.map(({ header }) => header), sent].map((header) =>
      header.subarray(0, 12).toString("hex"),
    );
    expect(new Set(beginnings).size).toBe(4);
  });

  it("[UDP-2] is dropped with an unknown connection number", async () => {
    const { site, connection, board, offer } = await talking();
    const stranger = await UdpSender.open(offer);
    const before = await site.metric(dropped);
    const number = connectionOf(offer);
    for (let guess = 1; guess <= 50; guess += 1) {
      await stranger.send(packet(guess), guess, { connection: (number + guess) >>> 0 });
    }
    await until(async () => (await site.metric(dropped)) === before + 50, "fifty dropped packets");
    await board.send(packet(1), 1);
    await hears(connection, 1);
    await speaksTo(connection, board, stranger);
  });

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["half a header", Buffer.from("0100000a00000001", "hex")],
    ["another type", undefined],
    ["a length that is not true", undefined],
    ["a packet of ours sent back", undefined],
  ])("[UDP-2] is not accepted from %s", async (what, raw) => {
    const { site, connection, board } = await talking();
    const before = await site.metric(dropped);
    const sound = await board.send(packet(1), 1);
    await hears(connection, 1);
    const datagram = raw ?? Buffer.from(sound);
    if (what === "another type") datagram[0] = 2;
    if (what === "a length that is not true") datagram.writeUInt16BE(3, 2);
    if (what === "a packet of ours sent back") datagram[1] = 0x80;
    await board.sendRaw(datagram);
    await until(async () => (await site.metric(dropped)) === before + 1, "a dropped packet");
    await board.send(packet(2), 2);
    await hears(connection, 2);
  });

  it("[UDP-3] stays with its board when an attacker knows its number but not its key", async () => {
    const { connection, board, offer } = await talking();
    const stranger = await UdpSender.open(offer);
    await sendAll(board, 1, 5);
    await hears(connection, 5);
    const key = randomKey();
    for (let count = 1; count <= 200; count += 1) {
      await stranger.send(randomBytes(90), 5 + count * 1_000, { key });
      await stranger.send(randomBytes(90), 5 + count, { key });
    }
    await sendAll(board, 6, 10);
    await hears(connection, 10);
    await speaksTo(connection, board, stranger);
    expect(connection.received.flatMap((item) => (item.kind === "audio" ? [item.frame] : []))).toEqual(
      Array.from({ length: 10 }, (_, index) => packet(index + 1)),
    );
  });

  it("[UDP-3] stays with a silent board, however long an attacker tries", async () => {
    const clock = new ManualClock();
    const { connection, board, offer, device } = await talking({ clock });
    const stranger = await UdpSender.open(offer);
    await sendAll(board, 1, 5);
    await hears(connection, 5);
    const key = randomKey();
    for (let second = 0; second < 30; second += 1) {
      for (let count = 0; count < 50; count += 1) {
        await stranger.send(randomBytes(100), 6 + second * 50 + count, { key });
      }
      clock.advance(1_000);
    }
    await (device.wire as MqttWire).ping();
    await speaksTo(connection, board, stranger);
    await sendAll(board, 6, 8);
    await hears(connection, 8);
  });

  it("[UDP-3] is accepted even if packets are longer than the hello announces", async () => {
    const { connection, board } = await talking();
    const short = Buffer.from([9 << 3, 1, 2, 3]);
    for (let sequence = 1; sequence <= 10; sequence += 1) await board.send(short, sequence);
    await hears(connection, 10);
    await speaksTo(connection, board);
  });

  it("[UDP-3] cannot be hijacked by replaying the board's packets", async () => {
    const { connection, board, offer } = await talking();
    const stranger = await UdpSender.open(offer);
    const recorded: Buffer[] = [];
    for (let sequence = 1; sequence <= 20; sequence += 1) {
      recorded.push(await board.send(packet(sequence), sequence));
    }
    await hears(connection, 20);
    for (const datagram of recorded) await stranger.sendRaw(datagram);
    for (const datagram of recorded) await board.sendRaw(datagram);
    await sendAll(board, 21, 22);
    await hears(connection, 22);
    await speaksTo(connection, board, stranger);
  });

  it("[UDP-3] is not blocked by one packet with a huge sequence number, even from the board's own address", async () => {
    const { connection, board } = await talking();
    await sendAll(board, 1, 3);
    await hears(connection, 3);
    await board.send(packet(0), 4_000_000_000);
    await board.send(randomBytes(50), 4_100_000_000, { key: randomKey() });
    await sendAll(board, 4, 8);
    await hears(connection, 8);
  });

  it("[UDP-3] follows a board whose address changes, and loses nothing on the way", async () => {
    const { connection, board, offer } = await talking();
    await sendAll(board, 1, 10);
    await hears(connection, 10);
    const moved = await UdpSender.open(offer);
    await sendAll(moved, 11, 13);
    await board.send(packet(1), 1);
    expect(connection.packetsHeard).toBe(10);
    await sendAll(moved, 14, 20);
    await hears(connection, 20);
    await speaksTo(connection, moved, board);
    expect(connection.received.flatMap((item) => (item.kind === "audio" ? [item.frame] : []))).toEqual(
      Array.from({ length: 20 }, (_, index) => packet(index + 1)),
    );
  });

  it("[UDP-3] continues after a long gap", async () => {
    const { connection, board } = await talking();
    await sendAll(board, 1, 2);
    await hears(connection, 2);
    await sendAll(board, 1_000, 1_005);
    await hears(connection, 8);
  });

  it("[UDP-4] waits for the board's first packet, and is then sent in order", async () => {
    const { connection, board } = await talking();
    for (let count = 1; count <= 5; count += 1) connection.sayAudio(packet(count));
    await board.send(packet(1), 1);
    for (let count = 1; count <= 5; count += 1)
      expect((await board.received.take()).opus).toEqual(packet(count));
  });

  it("writes no log line for any packet", async () => {
    let lines = 0;
    const stream = new Writable({
      write(_chunk, _encoding, done) {
        lines += 1;
        done();
      },
    });
    const { connection, board, offer, site } = await talking({ logger: pino({ level: "trace" }, stream) });
    const stranger = await UdpSender.open(offer);
    const before = lines;
    const droppedBefore = await site.metric(dropped);
    for (let sequence = 1; sequence <= 100; sequence += 1) {
      await board.send(packet(sequence), sequence);
      await stranger.send(randomBytes(40), sequence, { key: randomKey() });
      await stranger.send(packet(1), sequence, { connection: sequence });
    }
    await hears(connection, 100);
    await until(async () => (await site.metric(dropped)) >= droppedBefore + 100, "the bad ones");
    expect(lines - before).toBeLessThan(5);
  });

  it("[UDP-5] ends when it is unused: the server is disconnected, and the board gets a goodbye", async () => {
    const clock = new ManualClock();
    const { connection, board, device } = await talking({ clock });
    await board.send(packet(1), 1);
    await hears(connection, 1);
    /** The connection to the broker stays open, which does not count. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 20_000) {
        clock.advance(20_000);
        await (device.wire as MqttWire).ping();
      }
    };
    await pass(100_000);
    await board.send(packet(2), 2);
    await hears(connection, 2);
    await pass(100_000);
    expect(device.wire.untaken.join(" ")).not.toContain("goodbye");
    await pass(60_000);
    await until(() => device.wire.untaken.some((text) => text.includes('"goodbye"')), "the goodbye");
    await connection.ended;
    expect(JSON.parse(device.wire.untaken.find((text) => text.includes('"goodbye"')) ?? "")).toEqual({
      type: "goodbye",
      session_id: device.sessionId,
    });
  });

  it("[UDP-5] ends when the board's connection is lost, and the board gets a goodbye when it reconnects", async () => {
    const { site, connection, device, board } = await talking();
    await board.send(packet(1), 1);
    await hears(connection, 1);
    device.cut();
    await connection.ended;
    const back = await site.connect({ transport: mqttTransport });
    expect(await back.nextFrame("goodbye")).toEqual({ type: "goodbye", session_id: device.sessionId });
    await back.nextRequest("initialize");
    // Its further packets are dropped.
    const before = await site.metric(dropped);
    await board.send(packet(2), 2);
    await until(async () => (await site.metric(dropped)) === before + 1, "a dropped packet");
    const again = await site.connect({ transport: mqttTransport });
    await again.nextRequest("initialize");
  });

  it("[UDP-5] causes no goodbye if it ended before the connection was lost", async () => {
    const { site, connection, device, board } = await talking();
    await board.send(packet(1), 1);
    await hears(connection, 1);
    connection.close();
    await until(() => device.wire.untaken.some((text) => text.includes('"goodbye"')), "the goodbye");
    device.cut();
    const back = await site.connect({ transport: mqttTransport });
    await back.nextRequest("initialize");
  });

  it("[DEV-23] a goodbye of another session ends nothing", async () => {
    const { connection, device, board } = await talking();
    device.send({ type: "goodbye", session_id: "another-client" });
    device.send({ type: "goodbye" });
    await board.send(packet(1), 1);
    await hears(connection, 1);
    device.send({ type: "goodbye", session_id: device.sessionId });
    await connection.ended;
  });
});
