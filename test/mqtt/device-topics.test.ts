import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { MqttApp } from "../mqtt-app.ts";
import { askForSettings, MqttWire } from "../mqtt-wire.ts";
import { RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
const secondDevice = "02:00:00:00:00:02";

function pushTopic(deviceId: string): string {
  return `devices/p2p/TENDON@@@${deviceId.replaceAll(":", "_")}@@@${clientId}`;
}

/** A device whose MQTT packets the test can access too. */
async function open(
  site: Site,
  deviceId = firstDevice,
  more: Parameters<typeof MqttWire.open>[1] = {},
): Promise<{ device: RawDevice; wire: MqttWire }> {
  const wire = await MqttWire.open(await askForSettings(site.url, { deviceId, clientId }), more);
  const device = new RawDevice(wire, deviceId, false);
  await device.setUp({ tools: [tool("a")] });
  await site.listed(deviceId);
  return { device, wire };
}

const notice = JSON.stringify({
  type: "mcp",
  session_id: "",
  payload: { jsonrpc: "2.0", method: "notifications/seen" },
});

describe("a device over MQTT", () => {
  it("[MQT-4][MQT-5] is initialized, listed and callable on its own topic without subscribing", async () => {
    const site = await openSite();
    const { device, wire } = await open(site);
    const running = site.call(device.id, "a");
    device.reply((await device.nextRequest("tools/call")).id, textContent("done"));
    expect((await running).body["result"]).toEqual(textContent("done"));
    expect(wire.messages.length).toBe(4);
    expect(new Set(wire.messages.map(({ topic }) => topic))).toEqual(new Set([pushTopic(firstDevice)]));
    expect(wire.messages.every(({ qos, retain, dup }) => qos === 0 && !retain && !dup)).toBe(true);
    expect(await site.device(device.id)).toMatchObject({ transport: "mqtt", online: true, toolCount: 1 });
    wire.cut();
  });

  it.each([0, 1, 2] as const)(
    "[MQT-5] that subscribes with QoS %i to its own topic gets each message once",
    async (qos) => {
      const site = await openSite();
      const { device, wire } = await open(site);
      expect(await wire.subscribe(pushTopic(firstDevice), qos)).toBe(qos);
      const before = wire.messages.length;
      for (const text of ["one", "two", "three"]) {
        const running = site.call(device.id, "a");
        device.reply((await device.nextRequest("tools/call")).id, textContent(text));
        expect((await running).body["result"]).toEqual(textContent(text));
      }
      expect(await device.quiet()).toEqual([]);
      expect(wire.messages.length).toBe(before + 4);
      wire.cut();
    },
  );

  it.each([
    "#",
    "+/p2p/+",
    "devices/p2p/+",
    "devices/p2p/#",
    pushTopic(secondDevice),
    "device-server",
    "device-server/+",
    "tendon/#",
    "tendon/devices/+/status",
    "$SYS/#",
    "$SYS/+/new/clients",
    `$share/group/${pushTopic(firstDevice)}`,
    `${pushTopic(firstDevice)}/more`,
  ])("[MQT-5] may not subscribe to %s", async (filter) => {
    const site = await openSite();
    const { device, wire } = await open(site);
    expect(await wire.subscribe(filter)).toBe(128);
    const before = wire.messages.length;
    const other = await open(site, secondDevice);
    const running = site.call(other.device.id, "a");
    other.device.reply((await other.device.nextRequest("tools/call")).id, textContent("done"));
    await running;
    expect(await device.quiet()).toEqual([]);
    expect(wire.messages.length).toBe(before + 1);
    wire.cut();
    other.wire.cut();
  });

  it("[MQT-5] can publish to other topics without effect, and stays connected", async () => {
    const site = await openSite();
    const { device, wire } = await open(site);
    const other = await open(site, secondDevice);
    await other.wire.subscribe(pushTopic(secondDevice));
    const app = await MqttApp.open(site);
    await app.wire.subscribe("tendon/#");
    const events = await site.events("?type=device.notification");
    await until(() => app.on(`tendon/devices/${secondDevice}/status`)[0], "the retained status");
    const [heard, pushed] = [app.wire.messages.length, other.wire.messages.length];
    const topics = [
      pushTopic(secondDevice),
      pushTopic(firstDevice),
      `device-server/TENDON@@@02_00_00_00_00_02@@@${clientId}`,
      "device-server/",
      "Device-Server",
      `tendon/devices/${secondDevice}/status`,
      `tendon/devices/${secondDevice}/call`,
      `tendon/devices/${secondDevice}/events/x`,
      "tendon/control",
      "tendon/control/reply",
      "$SYS/broker/new/clients",
      "$taken",
      "anything",
    ];
    for (const topic of topics) {
      wire.publish(topic, JSON.stringify({ tool: "a", action: "mute", device: secondDevice }));
      wire.publish(topic, notice, { qos: 1, messageId: 1, retain: true });
    }
    expect(await device.quiet()).toEqual([]);
    expect(await other.device.quiet()).toEqual([]);
    await app.wire.ping();
    expect(app.wire.messages.length).toBe(heard);
    expect(other.wire.messages.length).toBe(pushed + 1);
    const late = await MqttApp.open(site, { clientId: "late" });
    await late.wire.subscribe("tendon/#");
    expect(await late.next(`tendon/devices/${secondDevice}/status`)).toMatchObject({ state: "online" });
    device.notify("notifications/own");
    expect((await events.next()).data).toMatchObject({ method: "notifications/own" });
    expect(await site.metric('tendon_odd_frames_total{outcome="unknown"}')).toBe(topics.length * 2);
    wire.cut();
    other.wire.cut();
  });

  it("[MQT-5] QoS 1 and 2 are acknowledged, and each message counts once", async () => {
    const site = await openSite();
    const { device, wire } = await open(site);
    const events = await site.events("?type=device.notification");
    wire.publish("device-server", notice, { qos: 1, messageId: 11 });
    expect(await wire.nextPacket("puback")).toMatchObject({ messageId: 11 });
    wire.publish("device-server", notice, { qos: 2, messageId: 12 });
    expect(await wire.nextPacket("pubrec")).toMatchObject({ messageId: 12 });
    wire.publish("device-server", notice, { qos: 2, messageId: 12, dup: true });
    expect(await wire.nextPacket("pubrec")).toMatchObject({ messageId: 12 });
    wire.send({ cmd: "pubrel", messageId: 12 });
    expect(await wire.nextPacket("pubcomp")).toMatchObject({ messageId: 12 });
    // The packet id is free again, so this is another message.
    wire.publish("device-server", notice, { qos: 2, messageId: 12 });
    wire.send({ cmd: "pubrel", messageId: 12 });
    expect(await wire.nextPacket("pubcomp")).toMatchObject({ messageId: 12 });
    device.notify("notifications/last");
    await until(() => events.seen.some(({ data }) => data["method"] === "notifications/last"));
    expect(events.seen.length).toBe(4);
    wire.cut();
  });

  it("[MQT-13] may use a packet id again after a reconnect, also one that it never released", async () => {
    const site = await openSite();
    const { device, wire } = await open(site);
    const events = await site.events("?type=device.notification");
    wire.publish("device-server", notice, { qos: 2, messageId: 12 });
    expect(await wire.nextPacket("pubrec")).toMatchObject({ messageId: 12 });
    await events.next();
    wire.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    const again = await open(site);
    again.wire.publish("device-server", notice, { qos: 2, messageId: 12 });
    expect(await again.wire.nextPacket("pubrec")).toMatchObject({ messageId: 12 });
    await events.next();
    again.wire.cut();
  });

  it("[MQT-5] has its retained messages processed once and not retained", async () => {
    const site = await openSite();
    const { device, wire } = await open(site);
    const events = await site.events("?type=device.notification");
    wire.publish("device-server", notice, { retain: true });
    await events.next();
    wire.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    const again = await open(site);
    expect(await again.device.quiet()).toEqual([]);
    expect(events.seen.length).toBe(1);
    again.wire.cut();
  });

  it.each(["device-server", pushTopic(secondDevice), "tendon/devices/02:00:00:00:00:02/call"])(
    "[MQT-5] has its will on %s ignored",
    async (topic) => {
      const site = await openSite();
      const other = await open(site, secondDevice);
      const events = await site.events();
      const { wire } = await open(site, firstDevice, {
        will: { topic, payload: Buffer.from(notice), qos: 1, retain: true },
      });
      wire.cut();
      expect((await events.nextOf("device.offline")).device).toBe(firstDevice);
      expect(await other.device.quiet()).toEqual([]);
      other.device.notify("notifications/last");
      await events.nextOf("device.notification");
      const told = events.seen.filter(({ type }) => type === "device.notification");
      expect(told.map(({ device }) => device)).toEqual([secondDevice]);
      other.wire.cut();
    },
  );

  it("[MQT-3] is offline with a reason after one and a half keep-alives of silence", async () => {
    const site = await openSite();
    const { device, wire } = await open(site, firstDevice, { keepalive: 1 });
    await wire.ended;
    const view = await until(async () => {
      const now = await site.device(device.id);
      return now["online"] === false ? now : undefined;
    });
    expect(JSON.stringify(view)).toContain("the device stopped sending keep-alives");
  });

  it("[MQT-3] is offline at once after a DISCONNECT or a lost connection", async () => {
    const site = await openSite();
    for (const leave of ["close", "cut"] as const) {
      const { device, wire } = await open(site);
      wire[leave]();
      await until(async () => (await site.device(device.id))["online"] === false);
      expect(JSON.stringify(await site.device(device.id))).toContain("the device closed the connection");
    }
  });

  it("[MQT-5] topics with wildcards, or none, end the connection", async () => {
    const site = await openSite();
    for (const topic of ["device-server/#", "a/+/b", "", "a/".repeat(40)]) {
      const { wire } = await open(site);
      // Bypasses the library's checks: a topic of this length, an empty message.
      const bytes = Buffer.from(topic);
      wire.socket.write(Buffer.concat([Buffer.from([0x30, bytes.length + 2, 0, bytes.length]), bytes]));
      await wire.ended;
      await until(async () => (await site.device(firstDevice))["online"] === false);
    }
  });
});
