/** The gateway as a client of a real Mosquitto, with the rules of docs/reference/mqtt.md. */
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { limits } from "@tendon/protocol";
import mqttPacket, { type IConnectPacket } from "mqtt-packet";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { Mosquitto } from "../mosquitto.ts";
import { MqttRefused, type MqttSettings, MqttWire } from "../mqtt-wire.ts";
import { RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
const secondDevice = "02:00:00:00:00:02";
const secret = "the-gateways-own-password";
const awake = { type: "mcp", session_id: "", payload: { jsonrpc: "2.0", method: "notifications/awake" } };

async function open(
  through?: (port: number) => Promise<number>,
  clock?: ManualClock,
): Promise<{ site: Site; broker: Mosquitto }> {
  const broker = await Mosquitto.start({ tendon: secret });
  const port = through === undefined ? broker.port : await through(broker.port);
  const config = { mqtt: { broker: `mqtt://tendon:${secret}@127.0.0.1:${port}` } };
  const site = await openSite({ config, ...(clock === undefined ? {} : { clock }) });
  await ready(site);
  return { site, broker };
}

async function ready(site: Site): Promise<void> {
  await until(
    async () => (await askAll(site.url, { path: "/readyz" })).status === 200,
    "the gateway to be ready",
  );
}

function provision(site: Site, broker: Mosquitto, deviceId = firstDevice): MqttSettings {
  const settings = site.tendon.provision(deviceId, clientId).mqtt;
  broker.addUser(settings.client_id, settings.password);
  return { ...settings, endpoint: `127.0.0.1:${broker.port}` };
}

/** Signs in as soon as the broker knows the password, and subscribes as devices must here. */
async function dialIn(settings: MqttSettings, more: Partial<IConnectPacket> = {}): Promise<MqttWire> {
  const wire = await until(
    () =>
      MqttWire.open(settings, more).catch((error: unknown) => {
        if (error instanceof MqttRefused) return undefined;
        throw error;
      }),
    "the broker to let the device in",
  );
  onTestFinished(() => wire.cut());
  await wire.subscribe(`devices/p2p/${settings.client_id}`);
  return wire;
}

async function join(
  site: Site,
  settings: MqttSettings,
  deviceId = firstDevice,
  more: Partial<IConnectPacket> = {},
) {
  const wire = await dialIn(settings, more);
  const device = new RawDevice(wire, deviceId, false);
  device.send(awake);
  await device.setUp({ tools: [tool("a")] });
  await site.listed(deviceId);
  return device;
}

async function called(site: Site, device: RawDevice): Promise<void> {
  const running = site.call(device.id, "a");
  device.reply((await device.nextRequest("tools/call")).id, textContent("done"));
  expect((await running).body["result"]).toEqual(textContent("done"));
}

async function offline(site: Site, deviceId = firstDevice): Promise<string> {
  await until(async () => (await site.device(deviceId))["online"] === false, "the device to be offline");
  return JSON.stringify(await site.device(deviceId));
}

describe("an external broker", () => {
  it("[MQT-9][MQT-10] is given to devices with its address, their own topic and their client id as the user", async () => {
    const { site, broker } = await open();
    const { body } = await site.rest("POST", "/devices/provision", { id: firstDevice, clientId });
    const client_id = `TENDON@@@02_00_00_00_00_01@@@${clientId}`;
    expect(body["mqtt"]).toEqual({
      endpoint: `127.0.0.1:${broker.port}`,
      client_id,
      username: client_id,
      password: expect.any(String),
      publish_topic: `device-server/${client_id}`,
      keepalive: 60,
    });
    expect((await askAll(site.url, { path: "/mqtt" })).status).toBe(404);
  });

  it("[MQT-11] makes a device callable once it subscribes and sends something", async () => {
    const { site, broker } = await open();
    const settings = provision(site, broker);
    const device = await join(site, settings);
    await called(site, device);
    expect(await site.device(device.id)).toMatchObject({ online: true, transport: "mqtt", toolCount: 1 });
    const messages = (device.wire as MqttWire).messages;
    expect(messages.length).toBe(4);
    expect(new Set(messages.map(({ topic }) => topic))).toEqual(
      new Set([`devices/p2p/${settings.client_id}`]),
    );
  });

  it("[MQT-11] marks a device offline by its will or an empty message, and online by its next message", async () => {
    const { site, broker } = await open();
    const settings = provision(site, broker);
    const will = { topic: settings.publish_topic, payload: Buffer.alloc(0), qos: 0 as const, retain: false };
    const device = await join(site, settings, firstDevice, { will });
    const running = site.call(device.id, "a");
    await device.nextRequest("tools/call");
    device.cut();
    expect((await running).body).toMatchObject({ code: "device_disconnected", sent: true });
    expect(await offline(site)).toContain("the MQTT broker published the device's will");
    const again = await join(site, settings);
    await called(site, again);
  });

  it("[MQT-10] blocks a device that publishes for another by its rules", async () => {
    const { site, broker } = await open();
    const victim = provision(site, broker);
    const device = await join(site, victim);
    const thief = await dialIn(provision(site, broker, secondDevice));
    const events = await site.events();
    const running = site.call(device.id, "a");
    const { id } = await device.nextRequest("tools/call");
    await thief.subscribe(`devices/p2p/${victim.client_id}`);
    await thief.subscribe("devices/p2p/#");
    await thief.subscribe("device-server/#");
    const forged = {
      type: "mcp",
      session_id: "",
      payload: { jsonrpc: "2.0", id, result: textContent("forged") },
    };
    for (const text of [JSON.stringify(forged), JSON.stringify(awake), ""]) {
      thief.publish(victim.publish_topic, text, { qos: 1, messageId: 3 });
      await thief.nextPacket("puback");
      thief.publish(`devices/p2p/${victim.client_id}`, text, { qos: 1, messageId: 4 });
      await thief.nextPacket("puback");
    }
    expect(await device.quiet()).toEqual([]);
    device.reply(id, textContent("own"));
    expect((await running).body["result"]).toEqual(textContent("own"));
    expect(thief.messages).toEqual([]);
    expect(events.seen.filter(({ type }) => type !== "call.finished")).toEqual([]);
    expect(await site.device(secondDevice)).toMatchObject({ online: false, lastSeenAt: null });
  });

  it("[MQT-10] cannot add devices by unknown topics or unknown pairs", async () => {
    const { site, broker } = await open();
    provision(site, broker);
    for (const name of [
      "nobody",
      `TENDON@@@02_00_00_00_00_01@@@another-board`,
      "TENDON@@@02_00_00_00_00_03",
    ]) {
      broker.addUser(name, "some-password");
      const settings: MqttSettings = {
        endpoint: `127.0.0.1:${broker.port}`,
        client_id: name,
        username: name,
        password: "some-password",
        publish_topic: `device-server/${name}`,
        keepalive: 60,
      };
      const wire = await dialIn(settings);
      const refused = await site.metric('tendon_connections_refused_total{code="unauthenticated"}');
      wire.sendText(JSON.stringify(awake));
      await until(
        async () => (await site.metric('tendon_connections_refused_total{code="unauthenticated"}')) > refused,
        "the refusal to be counted",
      );
    }
    expect((await site.rest("GET", "/devices?online=true")).body["devices"]).toEqual([]);
    expect(await site.device(firstDevice)).toMatchObject({ lastSeenAt: null });
  });

  it("[MQT-10][PRV-8] causes a bounded number of log lines without secrets for rejected devices and large messages", async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString());
        done();
      },
    });
    const broker = await Mosquitto.start({ tendon: secret });
    const site = await openSite({
      config: { mqtt: { broker: broker.url("tendon", secret) } },
      logger: pino({ level: "trace" }, stream),
    });
    await ready(site);
    const device = await join(site, provision(site, broker));
    const wire = device.wire as MqttWire;
    wire.sendText("x".repeat(limits.deviceFrameBytes.max + 1));
    await until(async () => (await site.metric('tendon_odd_frames_total{outcome="invalid"}')) === 1);
    await called(site, device);
    await site.rest("POST", `/devices/${firstDevice}/revoke`);
    for (let index = 0; index < limits.failedSignIns.max + 20; index += 1) device.send(awake);
    const throttled = 'tendon_connections_refused_total{code="rate_limited"}';
    await until(async () => (await site.metric(throttled)) === 20, "the last of them to be counted");
    expect(lines.filter((line) => line.includes("device refused")).length).toBe(limits.failedSignIns.max);
    expect(lines.join("")).toContain(firstDevice);
    expect(lines.join("")).not.toContain(clientId);
  });

  it("[DEV-9] has a flooding device ignored for ten seconds and marked offline", async () => {
    const clock = new ManualClock();
    const { site, broker } = await open(undefined, clock);
    const settings = provision(site, broker);
    const device = await join(site, settings);
    const events = await site.events("?type=device.online,device.offline");
    for (let count = 0; count < 3_000; count += 1) device.send(awake);
    expect(await events.next()).toMatchObject({
      type: "device.offline",
      data: { reason: "the device sends too many frames" },
    });
    // Sent and delivered after the flood.
    const wire = device.wire as MqttWire;
    wire.publish(settings.publish_topic, JSON.stringify(awake), { qos: 1, messageId: 9 });
    await wire.nextPacket("puback");
    const other = await join(site, provision(site, broker, secondDevice), secondDevice);
    expect(await events.next()).toMatchObject({ type: "device.online", device: other.id });
    expect(await site.device(firstDevice)).toMatchObject({ online: false });
    clock.advance(10_000);
    device.send(awake);
    expect(await events.next()).toMatchObject({ type: "device.online", device: firstDevice });
  });

  it("[MQT-12] takes its devices offline when it dies, with the reason in readyz, and brings them back", async () => {
    const { site, broker } = await open();
    const settings = provision(site, broker);
    const device = await join(site, settings);
    const running = site.call(device.id, "a");
    await device.nextRequest("tools/call");
    await broker.stop();
    expect((await running).body).toMatchObject({ code: "device_disconnected", sent: true });
    expect(await offline(site)).toContain("the connection to the MQTT broker was lost");
    const { status, body } = await askAll(site.url, { path: "/readyz" });
    expect([status, body]).toEqual([
      503,
      {
        status: "unready",
        problems: ["mqtt: the external MQTT broker does not answer"],
        parts: { mqtt: "the external MQTT broker does not answer" },
      },
    ]);
    expect((await site.call(device.id, "a")).body).toMatchObject({ code: "device_offline" });
    await broker.run();
    await ready(site);
    const again = await join(site, settings);
    await called(site, again);
  });

  it("[MQT-12] has its devices asked and online again when only the gateway's connection broke", async () => {
    const sockets = new Set<net.Socket>();
    const { site, broker } = await open(async (target) => {
      const proxy = net.createServer((near) => {
        const far = net.connect(target, "127.0.0.1");
        for (const socket of [near, far]) {
          socket.on("error", () => undefined);
          sockets.add(socket);
        }
        near.pipe(far).pipe(near);
      });
      proxy.listen(0, "127.0.0.1");
      await once(proxy, "listening");
      onTestFinished(() => {
        for (const socket of sockets) socket.destroy();
        proxy.close();
      });
      const address = proxy.address();
      return typeof address === "object" && address !== null ? address.port : 0;
    });
    const device = await join(site, provision(site, broker));
    for (const socket of sockets) socket.destroy();
    // The device noticed nothing and sends nothing on its own.
    const { id, message } = await device.nextRequest("ping");
    expect(message["id"]).toBe(1);
    device.refuse(id, "Method not implemented: ping");
    await device.setUp({ tools: [tool("a")] });
    await called(site, device);
  });

  it("[MQT-12] has known devices asked after a gateway restart, whose client ids are stored encrypted", async () => {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-outside-"));
    onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
    const broker = await Mosquitto.start({ tendon: secret });
    const config = {
      data,
      mqtt: { broker: broker.url("tendon", secret) },
      devices: { admission: "closed" as const },
    };
    const before = await openSite({ config });
    await ready(before);
    const device = await join(before, provision(before, broker));
    const deleted = await join(before, provision(before, broker, secondDevice), secondDevice);
    await before.rest("DELETE", `/devices/${secondDevice}`);
    await before.stop();
    for (const file of fs.readdirSync(data, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      expect(fs.readFileSync(path.join(file.parentPath, file.name)).includes(clientId)).toBe(false);
    }
    const site = await openSite({ config });
    const { id } = await device.nextRequest("ping");
    device.refuse(id, "Method not implemented: ping");
    await device.setUp({ tools: [tool("a")] });
    await called(site, device);
    expect((deleted.wire as MqttWire).messages.length).toBe(3);
  });

  it("[MQT-11] has its retained messages of devices ignored", async () => {
    const { site, broker } = await open();
    const settings = provision(site, broker);
    const wire = await dialIn(settings);
    wire.publish(settings.publish_topic, JSON.stringify(awake), { retain: true, qos: 1, messageId: 3 });
    await wire.nextPacket("puback");
    const device = new RawDevice(wire, firstDevice, false);
    await device.setUp({ tools: [tool("a")] });
    device.cut();
    await site.stop();
    const late = await openSite({ config: { mqtt: { broker: broker.url("tendon", secret) } } });
    await ready(late);
    await called(late, await join(late, provision(late, broker, secondDevice), secondDevice));
    expect((await late.rest("GET", `/devices/${firstDevice}`)).status).toBe(404);
  });

  it("[MQT-12] is awaited by a gateway that starts first", async () => {
    const broker = await Mosquitto.start({ tendon: secret });
    await broker.stop();
    const site = await openSite({ config: { mqtt: { broker: broker.url("tendon", secret) } } });
    expect((await askAll(site.url, { path: "/readyz" })).status).toBe(503);
    await broker.run();
    await ready(site);
    await called(site, await join(site, provision(site, broker)));
  });

  it("[MQT-12] makes the gateway unready with a wrong password, without delaying its stop", async () => {
    const broker = await Mosquitto.start({ tendon: secret });
    const site = await openSite({ config: { mqtt: { broker: broker.url("tendon", "wrong") } } });
    expect((await askAll(site.url, { path: "/readyz" })).status).toBe(503);
    await site.tendon.stop();
  });

  it("[MQT-9] that rejects MQTT 5 is spoken to with 3.1.1", async () => {
    const versions: number[] = [];
    const old = net.createServer((socket) => {
      const parser = mqttPacket.parser();
      socket.on("error", () => undefined);
      parser.on("packet", (packet) => {
        if (packet.cmd !== "connect") return;
        versions.push(packet.protocolVersion ?? 0);
        socket.write(Buffer.from([0x20, 2, 0, packet.protocolVersion === 4 ? 0 : 1]));
        if (packet.protocolVersion !== 4) socket.end();
      });
      socket.on("data", (chunk) => parser.parse(chunk));
      onTestFinished(() => {
        socket.destroy();
      });
    });
    old.listen(0, "127.0.0.1");
    await once(old, "listening");
    onTestFinished(() => {
      old.close();
    });
    const address = old.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const site = await openSite({ config: { mqtt: { broker: `mqtt://127.0.0.1:${port}` } } });
    await ready(site);
    expect(versions).toEqual([5, 4]);
  });
});
