import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import mqttPacket from "mqtt-packet";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { brokerEndpoint, MqttApp } from "../mqtt-app.ts";
import {
  askForSettings,
  dial,
  MqttRefused,
  type MqttSettings,
  MqttWire,
  mqttTransport,
} from "../mqtt-wire.ts";
import { OtaBoard } from "../ota-board.ts";
import { tool } from "../raw-device.ts";
import { adminToken, firstDevice, openSite, type Site } from "../site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
const secondDevice = "02:00:00:00:00:02";
const mac = "02_00_00_00_00_01";

async function settingsOf(site: Site, deviceId = firstDevice): Promise<MqttSettings> {
  return await askForSettings(site.url, { deviceId, clientId });
}

/** The CONNACK's return code: 0 if accepted, -1 if the connection was closed without one. */
async function knock(settings: MqttSettings): Promise<number> {
  try {
    const wire = await MqttWire.open(settings);
    wire.cut();
    return 0;
  } catch (error) {
    if (error instanceof MqttRefused) return error.returnCode;
    throw error;
  }
}

const wrongClaims: readonly [
  string,
  number,
  (own: MqttSettings, other: MqttSettings) => Partial<MqttSettings>,
][] = [
  ["a wrong password", 4, () => ({ password: "wrong" })],
  ["no password", 5, () => ({ password: "" })],
  ["neither user nor password", 5, () => ({ username: "", password: "" })],
  ["its password and more", 4, ({ password }) => ({ password: `${password}x` })],
  ["its password less a character", 4, ({ password }) => ({ password: password.slice(0, -1) })],
  ["another device's password", 4, (_, { password }) => ({ password })],
  ["an app's token as the password", 4, () => ({ password: adminToken })],
  ["a wrong user", 4, () => ({ username: "another-user" })],
  ["a blank user", 4, () => ({ username: " " })],
  ["another device's user", 4, (_, { username }) => ({ username })],
  ["another group", 4, ({ client_id }) => ({ client_id: client_id.replace(/^[^@]+/, "OTHER") })],
  ["an empty group", 4, ({ client_id }) => ({ client_id: client_id.replace(/^[^@]+/, "") })],
  ["a client id of two parts", 4, () => ({ client_id: `TENDON@@@${mac}` })],
  ["a client id of two parts and no password", 5, () => ({ client_id: `TENDON@@@${mac}`, password: "" })],
  ["a client id of four parts", 4, ({ client_id }) => ({ client_id: `${client_id}@@@more` })],
  ["a mark alone", 4, () => ({ client_id: "@@@" })],
  ["another device's client id", 4, (_, { client_id }) => ({ client_id })],
  ["another Client-Id", 4, () => ({ client_id: `TENDON@@@${mac}@@@another-client` })],
  [
    "another first byte of its MAC address",
    4,
    ({ client_id }) => ({ client_id: client_id.replace("02_", "0A_") }),
  ],
  ["its MAC address without marks", 4, ({ client_id }) => ({ client_id: client_id.replaceAll("_", "") })],
  ["its MAC address with other marks", 4, ({ client_id }) => ({ client_id: client_id.replaceAll("_", "-") })],
  ["a MAC address never seen", 4, () => ({ client_id: `TENDON@@@0a_0b_0c_0d_0e_0f@@@${clientId}` })],
];

describe("a device that signs in over MQTT", () => {
  it.each(wrongClaims)(
    "[MQT-2] with %s is rejected with CONNACK %i, without other effects",
    async (_, code, change) => {
      const site = await openSite();
      const own = await settingsOf(site);
      const other = await settingsOf(site, secondDevice);
      const events = await site.events();
      expect(await knock({ ...own, ...change(own, other) })).toBe(code);
      expect((await site.rest("GET", "/devices")).body["devices"]).toEqual([]);
      // The next device's connection causes the first event.
      await MqttApp.open(site);
      await site.connect({ transport: mqttTransport, deviceId: "02:00:00:00:00:03" });
      expect(await events.next()).toMatchObject({ type: "device.online", device: "02:00:00:00:00:03" });
      expect(await site.metric('tendon_connections_refused_total{code="unauthenticated"}')).toBe(1);
    },
  );

  it.each(["approve", "closed", "open"] as const)(
    "[MQT-2] with invented credentials is rejected, also when admission is %s",
    async (admission) => {
      const site = await openSite({ config: { devices: { admission } } });
      const made = site.tendon.provision(secondDevice, clientId).mqtt;
      const unknown = { ...made, client_id: `TENDON@@@${mac}@@@${clientId}`, username: firstDevice };
      expect(await knock(unknown)).toBe(4);
      expect(await knock({ ...unknown, password: "" })).toBe(5);
      expect(await knock(made)).toBe(0);
    },
  );

  it.each(["lamp_1", "lamp:1", "Desk-Lamp", "a_b:c.d", "aa-bb-cc-dd-ee-0f", "home"])(
    "[MQT-1] can connect with the id %s",
    async (id) => {
      const site = await openSite({ config: { devices: { admission: "closed" } } });
      const { status, body } = await site.rest("POST", "/devices/provision", { id, clientId });
      expect(status).toBe(201);
      expect(await knock(body["mqtt"] as unknown as MqttSettings)).toBe(0);
    },
  );

  it.each(["a@@@b", "@@@", "a b", "a\u00fc", "a\n"])(
    "[MQT-1] gets no credentials for a Client-Id that it could not sign in with: %j",
    async (wrong) => {
      const site = await openSite();
      const made = await site.rest("POST", "/devices/provision", { id: firstDevice, clientId: wrong });
      expect([made.status, made.body["code"]]).toEqual([400, "bad_request"]);
      if (!wrong.includes("@@@")) return;
      const asked = await new OtaBoard(site.url, { clientId: wrong }).ask();
      expect([asked.status, asked.body["code"]]).toEqual([400, "bad_request"]);
    },
  );

  it("[MQT-2] keeps its connection when another one is rejected", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, clientId, tools: [tool("a")] });
    const own = await settingsOf(site);
    expect(await knock({ ...own, password: "wrong" })).toBe(4);
    expect(await knock({ ...own, password: "" })).toBe(5);
    expect(await device.quiet()).toEqual([]);
    expect(await site.device(device.id)).toMatchObject({ online: true });
  });

  it("[MQT-2] with its MAC address in capitals is rejected, because the client id must match exactly", async () => {
    const site = await openSite();
    const own = await settingsOf(site, "0a:0b:00:00:00:01");
    expect(await knock({ ...own, client_id: own.client_id.replace("0a_0b", "0A_0B") })).toBe(4);
    expect(await knock(own)).toBe(0);
  });

  it("[MQT-2] with credentials of another gateway is rejected", async () => {
    const site = await openSite();
    const other = await openSite();
    expect(await knock({ ...(await settingsOf(other)), endpoint: brokerEndpoint(site) })).toBe(4);
  });

  it("[MQT-5] keeps its signed-in identity, whatever its messages contain", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const other = await site.join({ transport: mqttTransport, deviceId: secondDevice, tools: [tool("a")] });
    const events = await site.events("?type=device.notification");
    const running = site.call(other.id, "a");
    const { id } = await other.nextRequest("tools/call");
    device.send({
      type: "mcp",
      session_id: "",
      device_id: other.id,
      mac: other.id,
      clientId: "TENDON@@@02_00_00_00_00_02@@@x",
      payload: { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "forged" }] } },
    });
    device.send({ type: "mcp", device_id: other.id, payload: { jsonrpc: "2.0", method: "notifications/x" } });
    expect(await events.next()).toMatchObject({ device: device.id });
    other.reply(id, { content: [{ type: "text", text: "own" }] });
    expect((await running).body["result"]).toMatchObject({ content: [{ type: "text", text: "own" }] });
  });

  it("[MQT-6] displaces its older connection, with that reason", async () => {
    const site = await openSite();
    const old = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const events = await site.events(`?device=${old.id}`);
    const waiting = site.call(old.id, "a");
    await old.nextRequest("tools/call");
    const fresh = await site.connect({ transport: mqttTransport });
    await old.wire.ended;
    const reason = "a newer connection of this device took over";
    expect((await events.nextOf("device.offline")).data).toMatchObject({ reason });
    expect(await events.nextOf("device.online")).toMatchObject({ device: old.id });
    expect((await waiting).body).toMatchObject({ code: "device_disconnected", sent: true });
    await fresh.setUp({ tools: [tool("b")] });
    await until(async () => (await site.toolNames(old.id)).includes("b"));
    expect(await site.device(old.id)).toMatchObject({ online: true });
    expect(await site.metric("tendon_devices_online")).toBe(1);
  });

  it("[MQT-6] leaves no state when its connection breaks off during sign-in", async () => {
    const site = await openSite();
    const settings = await settingsOf(site);
    for (let round = 0; round < 60; round += 1) {
      const socket = dial(settings.endpoint);
      const opened = MqttWire.open(settings, {}, socket).catch(() => undefined);
      await once(socket, "connect");
      // Each a little later than the last, so that every step of sign-in is interrupted once.
      for (let turn = 0; turn < round % 20; turn += 1) await setImmediate();
      socket.destroy();
      await opened;
    }
    const last = await MqttWire.open(settings);
    await last.nextText();
    last.cut();
    await until(async () => (await site.metric("tendon_devices_online")) === 0, "no device online");
    expect(await site.device(firstDevice)).toMatchObject({ online: false });
  });

  it("[MQT-6] is offline when a newer connection breaks off during sign-in", async () => {
    const site = await openSite();
    const settings = await settingsOf(site);
    for (let turns = 0; turns < 20; turns += 1) {
      const device = await site.connect({ transport: mqttTransport, clientId });
      await device.nextRequest("initialize");
      const socket = dial(settings.endpoint);
      const opened = MqttWire.open(settings, {}, socket).catch(() => undefined);
      await once(socket, "connect");
      for (let turn = 0; turn < turns; turn += 1) await setImmediate();
      socket.destroy();
      await opened;
      device.cut();
      await until(async () => (await site.device(firstDevice))["online"] === false, `offline (${turns})`);
    }
  });
});

describe("an app that does not wait for the CONNACK", () => {
  it("[APP-4] is answered, at whatever step of sign-in its request arrives", async () => {
    const site = await openSite();
    const connect = {
      cmd: "connect",
      protocolId: "MQTT",
      protocolVersion: 4,
      clean: true,
      clientId: "hasty",
      username: "app",
      password: Buffer.from(adminToken),
      keepalive: 60,
    } as const;
    const topic = "tendon/control/reply";
    const asks = Buffer.concat([
      mqttPacket.generate({ cmd: "subscribe", messageId: 1, subscriptions: [{ topic, qos: 0 }] }),
      mqttPacket.generate({
        cmd: "publish",
        topic: "tendon/control",
        payload: "{}",
        qos: 0,
        dup: false,
        retain: false,
      }),
    ]);
    for (let turns = 0; turns < 20; turns += 1) {
      const socket = dial(brokerEndpoint(site));
      const parser = mqttPacket.parser({ protocolVersion: 4 });
      const answered = new Promise<void>((resolve) => {
        parser.on("packet", ({ cmd }) => {
          if (cmd === "publish") resolve();
        });
      });
      socket.on("data", (chunk) => parser.parse(chunk));
      await once(socket, "connect");
      socket.write(mqttPacket.generate(connect));
      for (let turn = 0; turn < turns; turn += 1) await setImmediate();
      socket.write(asks);
      await answered;
      socket.destroy();
    }
    expect((await site.rest("GET", "/devices")).status).toBe(200);
  });
});

describe("an app that signs in over MQTT", () => {
  it.each([
    ["a blank user and no client id", { username: " ", clientId: "" }],
    ["any user and client id", { username: "whoever", clientId: "phone-1" }],
    ["a client id that looks like an address", { clientId: "02:00:00:00:00:01" }],
    ["a client id of 200 characters", { clientId: "x".repeat(200) }],
    ["a client id with wildcards", { clientId: "#/+/$SYS" }],
  ])("[APP-1] with its token and %s is accepted", async (_, options) => {
    const site = await openSite();
    const app = await MqttApp.open(site, options);
    expect(await app.wire.subscribe("tendon/#")).toBe(0);
  });

  it.each([
    ["a wrong token", { token: "not-a-token-of-this-gateway" }, 4],
    ["no token", { token: "" }, 5],
    ["a device's mark in its client id", { clientId: "app@@@1" }, 4],
    ["a device's client id", { clientId: `TENDON@@@${mac}@@@${clientId}` }, 4],
    [
      "a device's client id and user",
      { clientId: `TENDON@@@${mac}@@@${clientId}`, username: firstDevice },
      4,
    ],
  ])("[APP-1] with %s is rejected", async (_, options, code) => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, clientId, tools: [tool("a")] });
    const refused = await MqttApp.open(site, options).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(MqttRefused);
    expect(refused).toMatchObject({ returnCode: code });
    expect(await device.quiet()).toEqual([]);
  });

  it("[TOK-4] is disconnected when its token is revoked during sign-in", async () => {
    const site = await openSite();
    for (let turns = 0; turns < 20; turns += 1) {
      const { body } = await site.rest("POST", "/tokens", { name: `token-${turns}`, scopes: ["call"] });
      const socket = dial(brokerEndpoint(site));
      await once(socket, "connect");
      const revoked = site.rest("DELETE", `/tokens/${String(body["id"])}`);
      for (let turn = 0; turn < turns; turn += 1) await setImmediate();
      const settings = {
        endpoint: "",
        client_id: "app",
        username: "app",
        password: String(body["token"]),
        publish_topic: "",
        keepalive: 60,
      };
      const wire = await MqttWire.open(settings, {}, socket).catch(() => undefined);
      expect((await revoked).status).toBe(204);
      await wire?.ended;
    }
  });

  it("[MQT-6] displaces only its own connection with the same client id", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const first = await MqttApp.open(site, { clientId: "phone" });
    const other = await MqttApp.open(site, { clientId: "tablet" });
    await MqttApp.open(site, { clientId: "phone" });
    await first.wire.ended;
    await other.wire.ping();
    const impostor = await MqttApp.open(site, { clientId: "tablet", token: "an-unknown-token-here" }).catch(
      (error: unknown) => error,
    );
    expect(impostor).toBeInstanceOf(MqttRefused);
    await other.wire.ping();
    expect(await device.quiet()).toEqual([]);
  });

  it("[MQT-6] apps without a client id do not displace each other", async () => {
    const site = await openSite();
    const apps = await Promise.all(Array.from({ length: 10 }, () => MqttApp.open(site)));
    for (const app of apps) await app.wire.ping();
  });
});
