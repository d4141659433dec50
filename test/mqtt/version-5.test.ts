/** What only MQTT 5 has. The other files of this folder run with clients of both versions. */
import net from "node:net";
import { connectAsync, type IClientOptions, type MqttClient } from "mqtt";
import mqttPacket, { type IConnackPacket } from "mqtt-packet";
import { describe, expect, it, onTestFinished } from "vitest";
import { Inbox, until } from "../inbox.ts";
import { brokerEndpoint, MqttApp } from "../mqtt-app.ts";
import { askForSettings, MqttWire, mqttTransport } from "../mqtt-wire.ts";
import { RawDevice, textContent, tool } from "../raw-device.ts";
import { adminToken, firstDevice, openSite, type Site } from "../site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
const version5 = { protocolVersion: 5 } as const;

/** An ordinary client library, as apps use it. */
async function connect(site: Site, more: IClientOptions = {}): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://${brokerEndpoint(site)}`, {
    protocolVersion: 5,
    username: "app",
    password: adminToken,
    reconnectPeriod: 0,
    ...more,
  });
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.end(true);
  });
  return client;
}

function messagesOf(client: MqttClient) {
  const inbox = new Inbox<{ topic: string; text: string; properties: unknown }>("message");
  client.on("message", (topic, payload, { properties }) =>
    inbox.put({ topic, text: payload.toString(), properties }),
  );
  return inbox;
}

async function connack(site: Site, more: object): Promise<IConnackPacket> {
  const socket = net.connect(Number(brokerEndpoint(site).split(":")[1]), "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
  });
  const parser = mqttPacket.parser(version5);
  const packet = new Promise<IConnackPacket>((resolve) => {
    parser.on("packet", (found) => resolve(found as IConnackPacket));
  });
  socket.on("data", (chunk) => parser.parse(chunk));
  const password = Buffer.from(adminToken);
  const packetOf = {
    cmd: "connect",
    protocolId: "MQTT",
    clean: true,
    clientId: "",
    keepalive: 0,
    username: "a",
    password,
  };
  socket.write(
    mqttPacket.generate({ ...packetOf, ...version5, ...more } as mqttPacket.IConnectPacket, version5),
  );
  return await packet;
}

describe("an app with MQTT 5", () => {
  it("[APP-8] gets the reply on its response topic, with its correlation data", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const app = await connect(site);
    const replies = messagesOf(app);
    await app.subscribeAsync(["tendon/reply/one", `tendon/devices/${device.id}/call/reply`]);
    const topic = `tendon/devices/${device.id}/call`;
    const correlationData = Buffer.from([0, 255, 1]);
    const body = JSON.stringify({ request_id: 1, tool: "a" });
    await app.publishAsync(topic, body, {
      properties: { responseTopic: "tendon/reply/one", correlationData },
    });
    device.reply((await device.nextRequest("tools/call")).id, textContent("done"));
    const { topic: from, text, properties } = await replies.take();
    expect(from).toBe("tendon/reply/one");
    expect(properties).toMatchObject({ correlationData });
    expect(JSON.parse(text)).toMatchObject({ request_id: 1, ok: true, result: textContent("done") });

    for (const responseTopic of ["other/topic", "tendon/devices/x/status", "tendon/reply/"]) {
      await app.publishAsync(topic, body, { properties: { responseTopic } });
      const refused = await replies.take();
      expect(refused.topic).toBe(`${topic}/reply`);
      expect(JSON.parse(refused.text)).toMatchObject({ ok: false, error: { code: "bad_request" } });
    }
    expect(await device.quiet()).toEqual([]);
  });

  it.each([
    ["call", { tool: "self.audio_speaker.set_volume", arguments: { volume: 7 } }],
    ["control", { type: "device_control", action: "set_volume", volume: 7 }],
  ])(
    "[APP-7][APP-8] has its %s queued for the message expiry, and both replies repeat its correlation data",
    async (kind, request) => {
      const site = await openSite();
      const volume = {
        type: "object",
        properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
      };
      const tools = [{ name: "self.audio_speaker.set_volume", description: "", inputSchema: volume }];
      (await site.join({ transport: mqttTransport, tools })).cut();
      await until(async () => (await site.device(firstDevice))["online"] === false, "the device is away");
      const app = await connect(site);
      const replies = messagesOf(app);
      await app.subscribeAsync("tendon/reply/one");
      const properties = { responseTopic: "tendon/reply/one", correlationData: Buffer.from([0, 10, 255]) };
      const ask = (more: object, messageExpiryInterval: number) =>
        app.publishAsync(
          `tendon/devices/${firstDevice}/${kind}`,
          JSON.stringify({ request_id: 1, whenOffline: "queue", supersedeKey: "v", ...request, ...more }),
          { properties: { ...properties, messageExpiryInterval } },
        );
      const waits = async () => {
        const { text, properties: repeated } = await replies.take();
        expect(repeated).toMatchObject({ correlationData: properties.correlationData });
        const reply = JSON.parse(text) as { state?: string; expiresAt: string };
        expect(reply.state).toBe("queued");
        return Date.parse(reply.expiresAt) - Date.now();
      };
      await ask({ expiresInMs: 600_000 }, 3_600);
      expect(await waits()).toBeLessThanOrEqual(600_000);
      await ask({}, 3_600);
      const [first, second] = [await replies.take(), await replies.take()].map(({ text }) =>
        JSON.parse(text),
      );
      const [ended, queued] = first["state"] === "queued" ? [second, first] : [first, second];
      expect(ended).toMatchObject({ ok: false });
      const inMs = Date.parse(String(queued["expiresAt"])) - Date.now();
      expect(inMs).toBeGreaterThan(3_000_000);
      expect(inMs).toBeLessThanOrEqual(3_600_000);

      const device = await site.join({ transport: mqttTransport, tools });
      device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
      const { topic, text, properties: repeated } = await replies.take();
      expect([topic, repeated]).toEqual([
        "tendon/reply/one",
        expect.objectContaining({ correlationData: properties.correlationData }),
      ]);
      expect(JSON.parse(text)).toMatchObject({ request_id: 1, ok: true, result: textContent("true") });
    },
  );

  it("[APP-4][APP-8] sees no reply on the response topic of another token", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/tokens", { name: "other", scopes: ["read", "call"] });
    const [asker, other] = [await connect(site), await connect(site, { password: String(body["token"]) })];
    const [own, foreign] = [messagesOf(asker), messagesOf(other)];
    await asker.subscribeAsync("tendon/reply/#");
    await other.subscribeAsync("tendon/#");
    const properties = { responseTopic: "tendon/reply/x" };
    await asker.publishAsync("tendon/control", "{}", { properties });
    expect((await own.take()).topic).toBe("tendon/reply/x");
    await other.publishAsync("tendon/control", "{}", { properties });
    expect((await foreign.take()).topic).toBe("tendon/reply/x");
    expect([own.waiting.length, foreign.waiting.length]).toEqual([0, 0]);
  });

  it("[APP-8] learns by a reason code that a topic takes no requests, and stays connected", async () => {
    const site = await openSite();
    const app = await connect(site);
    const rejected = app.publishAsync("tendon/devices/x/status", "{}", { qos: 1 });
    await expect(rejected).rejects.toMatchObject({ code: 0x87 });
    await expect(app.subscribeAsync("other/#")).rejects.toThrow("Not authorized");
    await expect(app.subscribeAsync("$share/g/tendon/#")).rejects.toThrow("Shared Subscriptions");
    await app.publishAsync("tendon/control", "{}", { qos: 1 });
    expect(app.connected).toBe(true);
  });

  it("[APP-8] gets retained status as its retain handling says, and its subscription identifiers", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [] });
    const app = await connect(site);
    const messages = messagesOf(app);
    const status = `tendon/devices/${device.id}/status`;
    await app.subscribeAsync(status, { qos: 0, rh: 2 });
    await app.subscribeAsync(status, { qos: 0, rh: 1 });
    await app.subscribeAsync("tendon/devices/+/status", {
      qos: 0,
      rh: 2,
      properties: { subscriptionIdentifier: 7 },
    });
    await app.subscribeAsync("tendon/#", { qos: 0, rh: 2, properties: { subscriptionIdentifier: 9 } });
    device.cut();
    const { text, properties } = await messages.take();
    expect(JSON.parse(text)).toMatchObject({ state: "offline" });
    expect(properties).toMatchObject({ subscriptionIdentifier: [9, 7] });
    await app.subscribeAsync(status, { qos: 0, rh: 0 });
    expect(JSON.parse((await messages.take()).text)).toMatchObject({ state: "offline" });
    expect(messages.waiting).toEqual([]);
  });

  it("[APP-8] gets the retain flag with a new subscription only, and its replies with no-local", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [] });
    const app = await connect(site);
    const flags = new Inbox<[topic: string, retain: boolean]>("message");
    app.on("message", (topic, _, { retain }) => flags.put([topic, retain]));
    const status = `tendon/devices/${device.id}/status`;
    await app.subscribeAsync(status, { qos: 0, rap: true, nl: true });
    expect(await flags.take()).toEqual([status, true]);
    device.cut();
    expect(await flags.take()).toEqual([status, false]);
    await app.subscribeAsync("tendon/#", { qos: 0, rap: true, nl: true, rh: 2 });
    await app.publishAsync("tendon/control", "{}", { qos: 1, retain: true });
    expect(await flags.take()).toEqual(["tendon/control/reply", false]);
    expect(flags.waiting).toEqual([]);
  });

  it("[APP-8] is disconnected with a reason when its token is revoked, when it is displaced, and at the stop", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/tokens", { name: "short", scopes: ["read"] });
    const revoked = await connect(site, { password: String(body["token"]) });
    const displaced = await connect(site, { clientId: "same" });
    const last = await connect(site);
    const reasons = [revoked, displaced, last].map(
      (client) =>
        new Promise((resolve) => {
          client.once("disconnect", ({ reasonCode }) => resolve(reasonCode));
        }),
    );
    await site.rest("DELETE", `/tokens/${String(body["id"])}`);
    await connect(site, { clientId: "same" });
    await Promise.all(reasons.slice(0, 2));
    await site.stop();
    expect(await Promise.all(reasons)).toEqual([0x87, 0x8e, 0x8b]);
  });
});

describe("a CONNACK of MQTT 5", () => {
  it("[MQT-13] says that the session ends, which id the client has, and how large packets may be", async () => {
    const site = await openSite();
    const { reasonCode, properties } = await connack(site, {
      properties: { sessionExpiryInterval: 3_600, requestResponseInformation: true },
    });
    expect(reasonCode).toBe(0);
    expect(properties).toEqual({
      sessionExpiryInterval: 0,
      assignedClientIdentifier: expect.stringMatching(/^[0-9a-f]{16}$/),
      maximumPacketSize: 260 * 1_024 + 4,
      receiveMaximum: 1_000,
      responseInformation: "tendon/reply/",
      sharedSubscriptionAvailable: false,
    });
    const named = await connack(site, { clientId: "mine" });
    expect(named.properties).not.toHaveProperty("assignedClientIdentifier");
  });

  it.each([
    ["a wrong password", { password: Buffer.from("wrong") }, 0x86],
    ["no password", { username: undefined, password: undefined }, 0x87],
    ["enhanced authentication", { properties: { authenticationMethod: "x" } }, 0x8c],
    ["a receive maximum of 0", { properties: { receiveMaximum: 0 } }, 0x82],
  ])("[MQT-13] rejects %s with its reason code", async (_, more, code) => {
    const site = await openSite();
    expect((await connack(site, more)).reasonCode).toBe(code);
  });
});

describe("a device with MQTT 5", () => {
  it("[MQT-5][MQT-13] is pushed to without subscribing, and gets no message that is larger than it accepts", async () => {
    const site = await openSite();
    const settings = await askForSettings(site.url, { deviceId: firstDevice, clientId });
    const properties = { maximumPacketSize: 1_000 };
    const wire = await MqttWire.open(settings, { ...version5, properties });
    onTestFinished(() => wire.cut());
    const device = new RawDevice(wire, firstDevice, false);
    const text = { type: "object", properties: { text: { type: "string" } } };
    await device.setUp({ tools: [{ name: "a", description: "", inputSchema: text }] });
    await site.listed(firstDevice);
    const small = site.call(firstDevice, "a", { text: "x" });
    device.reply((await device.nextRequest("tools/call")).id, textContent("done"));
    expect((await small).status).toBe(200);
    const large = await site.call(firstDevice, "a", { text: "x".repeat(1_000) });
    expect(large.body["code"]).toBe("device_disconnected");
    for (const { topic } of wire.messages) expect(topic).toBe(`devices/p2p/${settings.client_id}`);
  });

  it("[MQT-6][MQT-13] displaces its older connection that does not read, and the gateway stops beside one", async () => {
    const site = await openSite();
    const settings = await askForSettings(site.url, { deviceId: firstDevice, clientId });
    const deaf = await MqttWire.open(settings, version5);
    onTestFinished(() => deaf.cut());
    deaf.socket.pause();
    const reader = await MqttApp.open(site, { clientId: "deaf", connect: version5 });
    await reader.wire.subscribe("tendon/control/reply");
    reader.wire.socket.pause();
    // Replies of up to 4 KB each fill the buffers of the app that does not read.
    const writer = await MqttApp.open(site, { connect: version5 });
    for (let count = 0; count < 200; count += 1)
      writer.wire.publish("tendon/control", JSON.stringify({ request_id: "x".repeat(3_000) }));
    await writer.wire.ping();
    const wire = await MqttWire.open(settings, version5);
    onTestFinished(() => wire.cut());
    await MqttApp.open(site, { clientId: "deaf", connect: version5 });
    await until(async () => (await site.device(firstDevice))["online"] === true);
    const started = performance.now();
    await site.stop();
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
