/** Invalid bytes: each ends at most its own connection, without cost. */
import { once } from "node:events";
import type net from "node:net";
import mqttPacket, { type IConnectPacket } from "mqtt-packet";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { Inbox, until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { brokerEndpoint, MqttApp } from "../mqtt-app.ts";
import { askForSettings, dial, MqttRefused, MqttWire, mqttTransport, mqttVersion } from "../mqtt-wire.ts";
import { tool } from "../raw-device.ts";
import { adminToken, firstDevice, openSite, type Site } from "../site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
const refusedBytes = 'tendon_connections_refused_total{code="payload_too_large"}';

async function socketTo(site: Site): Promise<net.Socket> {
  const socket = dial(brokerEndpoint(site));
  socket.on("error", () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "connect");
  return socket;
}

async function ended(socket: net.Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await once(socket, "close");
}

async function connectBytes(site: Site, more: Partial<IConnectPacket> = {}): Promise<Buffer> {
  const { client_id, username, password } = await askForSettings(site.url, {
    deviceId: firstDevice,
    clientId,
  });
  return mqttPacket.generate({
    cmd: "connect",
    protocolId: "MQTT",
    protocolVersion: mqttVersion,
    clean: true,
    clientId: client_id,
    username,
    password: Buffer.from(password),
    keepalive: 60,
    ...more,
  });
}

describe("bytes before CONNECT", () => {
  it.each([
    ["an HTTP request", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
    ["a TLS hello", Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ["a PUBLISH", Buffer.from([0x30, 0x03, 0x00, 0x01, 0x61])],
    ["a PINGREQ", Buffer.from([0xc0, 0x00])],
    ["zeros", Buffer.alloc(64)],
    ["0xff", Buffer.alloc(64, 0xff)],
    ["a length of 256 MB", Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
    ["a CONNECT of 2 KiB and a byte", Buffer.from([0x10, 0x81, 0x10])],
    ["a length without an end", Buffer.from([0x10, 0x80, 0x80, 0x80, 0x80])],
  ])("[MQT-3] %s end the connection at the header", async (_, bytes) => {
    const site = await openSite();
    const socket = await socketTo(site);
    socket.write(bytes);
    await ended(socket);
    expect(await site.metric(refusedBytes)).toBe(1);
  });

  it.each([
    ["another protocol's name", [0, 4, 0x4d, 0x51, 0x54, 0x58, 4, 2, 0, 60, 0, 0]],
    ["an unknown version", [0, 4, 0x4d, 0x51, 0x54, 0x54, 9, 2, 0, 60, 0, 0]],
    ["a reserved flag", [0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 3, 0, 60, 0, 0]],
    ["a client id longer than the packet", [0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0xff, 0xff]],
    ["no body", []],
  ])("[MQT-3] a CONNECT with %s ends the connection", async (_, body) => {
    const site = await openSite();
    const socket = await socketTo(site);
    socket.write(Buffer.from([0x10, body.length, ...body]));
    await ended(socket);
    expect((await site.rest("GET", "/devices")).body["devices"]).toEqual([]);
  });

  it.each([
    ["NUL", Buffer.from("a\u0000b")],
    ["bytes that are not UTF-8", Buffer.from([0x61, 0xff, 0xfe])],
  ])("[MQT-3] a client id with %s is rejected", async (_, name) => {
    const site = await openSite();
    const socket = await socketTo(site);
    const token = Buffer.from(adminToken);
    const text = (bytes: Buffer) => [bytes.length >> 8, bytes.length & 0xff, ...bytes];
    const body = [
      ...[0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 0xc2, 0, 60],
      ...[...text(name), ...text(Buffer.from("app")), ...text(token)],
    ];
    const answers = new Inbox<Buffer>("CONNACK");
    socket.on("data", (chunk: Buffer) => answers.put(chunk));
    socket.write(Buffer.from([0x10, body.length, ...body]));
    expect([...(await answers.take())]).toEqual([0x20, 2, 0, 2]);
    await ended(socket);
  });

  it.each([
    ["NUL", Buffer.from("tendon/a\u0000b")],
    ["bytes that are not UTF-8", Buffer.from([0x74, 0xff, 0xfe])],
  ])("[MQT-3] a message to a topic with %s ends the connection", async (_, topic) => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    // MQTT 5 has the length of the properties after the topic.
    const body = [0, topic.length, ...topic, ...(mqttVersion === 5 ? [0] : []), 0x78];
    app.wire.socket.write(Buffer.from([0x30, body.length, ...body]));
    await app.wire.ended;
  });

  it("[MQT-3] 64 MB from one socket use neither memory nor time", async () => {
    const site = await openSite();
    const before = process.memoryUsage().rss;
    const started = performance.now();
    for (const head of [Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]), Buffer.from([0x10, 0x80, 0x80, 0x80])]) {
      const socket = await socketTo(site);
      socket.write(head);
      const chunk = Buffer.alloc(1024 * 1024, 0x80);
      for (let sent = 0; sent < 64 && !socket.destroyed; sent += 1) {
        await new Promise<void>((resolve) => {
          socket.write(chunk, () => resolve());
        });
      }
      await ended(socket);
      expect(socket.bytesWritten).toBeLessThan(16 * 1024 * 1024);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    expect(performance.now() - started).toBeLessThan(15_000);
    expect((await site.rest("GET", "/devices")).status).toBe(200);
  });

  it("[MQT-3] a socket without a complete CONNECT after 10 s is closed", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const bytes = await connectBytes(site);
    const silent = await socketTo(site);
    const half = await socketTo(site);
    half.write(bytes.subarray(0, bytes.length - 1));
    const carried = new WebSocket(`${site.url.replace("http", "ws")}/mqtt`, "mqtt");
    carried.on("error", () => undefined);
    await once(carried, "open");
    const device = await site.join({ transport: mqttTransport, clientId, tools: [tool("a")] });
    clock.advance(9_999);
    await device.quiet();
    expect([silent.closed, half.closed, carried.readyState]).toEqual([false, false, WebSocket.OPEN]);
    clock.advance(1);
    await Promise.all([ended(silent), ended(half)]);
    await until(() => carried.readyState === WebSocket.CLOSED);
    expect(await device.quiet()).toEqual([]);
  });

  it.each([257, 1_000])("[MQT-3] a client id of %i characters is rejected with CONNACK 2", async (length) => {
    const site = await openSite();
    const app = MqttApp.open(site, { clientId: "x".repeat(length) });
    await expect(app).rejects.toMatchObject({ returnCode: 2 });
    const device = MqttApp.open(site, { clientId: `A@@@${"b".repeat(length)}@@@c` });
    await expect(device).rejects.toMatchObject({ returnCode: 2 });
  });
});

describe("bytes after CONNECT", () => {
  it("[MQT-3] packets are parsed byte by byte or all in one", async () => {
    const site = await openSite();
    const ping = mqttPacket.generate({ cmd: "pingreq" });
    for (const size of [1, 2, 3, 7, 1_000_000]) {
      const socket = await socketTo(site);
      const packets = new Inbox<string>("packet");
      const parser = mqttPacket.parser({ protocolVersion: mqttVersion });
      parser.on("packet", ({ cmd }) => packets.put(cmd));
      socket.on("data", (chunk) => parser.parse(chunk));
      const all = Buffer.concat([await connectBytes(site), ping, ping]);
      for (let at = 0; at < all.length; at += size) {
        await new Promise<void>((resolve) => {
          socket.write(all.subarray(at, at + size), () => resolve());
        });
      }
      const seen = [await packets.take(), await packets.take(), await packets.take(), await packets.take()];
      expect(seen[0]).toBe("connack");
      expect([...seen].sort()).toEqual(["connack", "pingresp", "pingresp", "publish"]);
      socket.destroy();
    }
  });

  it.each([
    ["a packet of more than 260 KiB", Buffer.from([0x30, 0x81, 0xa0, 0x10])],
    ["a length without an end", Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff])],
  ])("[MQT-3] %s ends the connection at the header", async (_, bytes) => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    (device.wire as MqttWire).socket.write(bytes);
    await device.wire.ended;
    await until(async () => (await site.device(device.id))["online"] === false);
    expect(await site.metric(refusedBytes)).toBe(1);
  });

  it.each([
    ["a second CONNECT", [0x10, 12, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 0]],
    ["a packet of type 0", [0x00, 0x00]],
    ["a packet of type 15", [0xf0, 0x00]],
    ["a PUBLISH of QoS 3", [0x36, 5, 0, 1, 0x61, 0, 1]],
    ["a SUBSCRIBE of nothing", [0x82, 2, 0, 1]],
    ["a server's packet", [0x20, 2, 0, 0]],
  ])("[MQT-3] %s ends only its own connection", async (_, bytes) => {
    const site = await openSite();
    const bystander = await site.join({ transport: mqttTransport, deviceId: "02:00:00:00:00:02" });
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    (device.wire as MqttWire).socket.write(Buffer.from(bytes));
    await device.wire.ended;
    await until(async () => (await site.device(device.id))["online"] === false);
    expect(await bystander.quiet()).toEqual([]);
  });

  it("[MQT-3] a thousand messages with QoS 2 may be unreleased; the next one ends the connection", async () => {
    const site = await openSite();
    const app = await MqttApp.open(site);
    const topic = `tendon/devices/${firstDevice}/call`;
    for (let messageId = 1; messageId <= 1_000; messageId += 1)
      app.wire.publish(topic, "", { qos: 2, messageId });
    await app.wire.ping();
    app.wire.send({ cmd: "pubrel", messageId: 1_000 });
    await app.wire.nextPacket("pubcomp");
    app.wire.publish(topic, "", { qos: 2, messageId: 1_001 });
    await app.wire.ping();
    app.wire.publish(topic, "", { qos: 2, messageId: 1_002 });
    await app.wire.ended;
  });

  it("[MQT-4] a device gets the CONNACK and its first message in one piece", async () => {
    const site = await openSite();
    const bytes = await connectBytes(site);
    const socket = await socketTo(site);
    socket.write(bytes);
    const [chunk] = await once(socket, "data");
    const cmds: string[] = [];
    const parser = mqttPacket.parser({ protocolVersion: mqttVersion });
    parser.on("packet", ({ cmd }) => cmds.push(cmd));
    parser.parse(chunk);
    expect(cmds).toEqual(["connack", "publish"]);
  });

  it("[MQT-3] noise after CONNECT never stops the gateway", async () => {
    const site = await openSite();
    const bytes = await connectBytes(site);
    for (let seed = 1; seed <= 40; seed += 1) {
      const socket = await socketTo(site);
      const noise = Buffer.from(
        Array.from({ length: 300 }, (_, index) => (seed * 131 + index * index * 7) % 251),
      );
      socket.write(Buffer.concat([bytes, noise]));
      socket.end();
      await ended(socket);
    }
    const device = await site.join({ transport: mqttTransport, clientId, tools: [tool("a")] });
    expect(await device.quiet()).toEqual([]);
  });
});

describe("other versions of MQTT", () => {
  it("[MQT-2] a CONNECT of MQTT 3.1 is accepted", async () => {
    const site = await openSite();
    const old = { protocolId: "MQIsdp", protocolVersion: 3 } as const;
    const settings = await askForSettings(site.url, { deviceId: firstDevice, clientId });
    const refused = MqttWire.open({ ...settings, password: "wrong" }, old);
    await expect(refused).rejects.toBeInstanceOf(MqttRefused);
    const wire = await MqttWire.open(settings, old);
    expect(JSON.parse(await wire.nextText())).toMatchObject({ payload: { method: "initialize" } });
    wire.cut();
    const app = await MqttApp.open(site, { token: adminToken, clientId: "old", connect: old });
    await app.wire.ping();
  });
});
