/** The broker over TLS and WebSocket. */
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { StartError } from "@tendon/gateway";
import mqtt from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { ask } from "../http-client.ts";
import { Inbox, until } from "../inbox.ts";
import { askForSettings, MqttRefused, MqttWire, mqttTransport } from "../mqtt-wire.ts";
import { RawDevice, textContent, tool } from "../raw-device.ts";
import { selfSigned } from "../self-signed.ts";
import { adminToken, firstDevice, openSite, type Site } from "../site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A typical app: mqtt.js over WebSocket. */
async function browserApp(site: Site, password: string): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`${site.url.replace("http", "ws")}/mqtt`, {
    username: "app",
    password,
    reconnectPeriod: 0,
  });
  onTestFinished(() => client.endAsync(true));
  return client;
}

describe("MQTT over WebSocket", () => {
  it("[APP-1] transports an app's call and its reply", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const app = await browserApp(site, adminToken);
    const topic = `tendon/devices/${device.id}/call`;
    const [granted] = await app.subscribeAsync(`${topic}/reply`);
    expect(granted).toMatchObject({ qos: 0 });
    const replies = new Inbox<[string, string]>("reply");
    app.on("message", (topic, payload) => replies.put([topic, payload.toString()]));
    await app.publishAsync(topic, JSON.stringify({ request_id: "r1", tool: "a" }), { qos: 1 });
    device.reply((await device.nextRequest("tools/call")).id, textContent("done"));
    const [at, payload] = await replies.take();
    expect(at).toBe(`${topic}/reply`);
    expect(JSON.parse(payload)).toMatchObject({
      request_id: "r1",
      ok: true,
      result: textContent("done"),
    });
  });

  it("[APP-1] rejects a wrong token in the CONNACK", async () => {
    const site = await openSite();
    await expect(browserApp(site, "not-a-token-of-ours")).rejects.toMatchObject({ code: 4 });
  });

  it("[MQT-3] closes only the connection with text frames, other protocols or too much data", async () => {
    const site = await openSite();
    const app = await browserApp(site, adminToken);
    const at = `${site.url.replace("http", "ws")}/mqtt`;
    for (const bytes of [
      Buffer.alloc(300 * 1024, 0x30),
      Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]),
      "hello",
    ]) {
      const socket = new WebSocket(at, "mqtt");
      socket.on("error", () => undefined);
      await once(socket, "open");
      const closed = once(socket, "close");
      socket.send(bytes);
      await closed;
    }
    await app.subscribeAsync("tendon/#");
    expect(app.connected).toBe(true);
  });

  it("[APP-1] serves no page at /mqtt, and is closed while the gateway stops", async () => {
    const site = await openSite();
    const response = await ask(site.url, { path: "/mqtt" });
    expect(response.statusCode).toBe(404);
    response.resume();
    const app = await browserApp(site, adminToken);
    await site.tendon.stop();
    await until(() => !app.connected);
  });
});

describe("MQTT over TLS", () => {
  it("[MQT-2] serves a device that trusts the certificate, beside the plain port", async () => {
    const { cert, key } = selfSigned();
    const tlsPort = await freePort();
    const site = await openSite({ config: { mqtt: { tlsPort }, tls: { cert, key } } });
    const settings = await askForSettings(site.url, { deviceId: firstDevice, clientId });
    const dialTls = async () => {
      const socket = tls.connect({ host: "127.0.0.1", port: tlsPort, ca: fs.readFileSync(cert) });
      await once(socket, "secureConnect");
      return socket;
    };
    const refused = MqttWire.open({ ...settings, password: "wrong" }, {}, await dialTls());
    await expect(refused).rejects.toBeInstanceOf(MqttRefused);
    const wire = await MqttWire.open(settings, {}, await dialTls());
    const device = new RawDevice(wire, firstDevice, false);
    await device.setUp({ tools: [tool("a")] });
    await site.listed(firstDevice);
    expect(settings.endpoint).not.toContain(String(tlsPort));
    const plain = await site.join({ transport: mqttTransport, deviceId: "02:00:00:00:00:02" });
    expect(await plain.quiet()).toEqual([]);
    expect(await device.quiet()).toEqual([]);
    wire.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
  });

  it("[MQT-3] plain bytes on the TLS port end that connection only", async () => {
    const { cert, key } = selfSigned();
    const tlsPort = await freePort();
    const site = await openSite({ config: { mqtt: { tlsPort }, tls: { cert, key } } });
    const socket = net.connect(tlsPort, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(Buffer.from([0x10, 0x0c, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 0]));
    socket.resume();
    await once(socket, "close");
    expect((await site.rest("GET", "/devices")).status).toBe(200);
  });

  it.each([
    ["a port without keys", { mqtt: { tlsPort: 0 } }, "mqtt.tlsPort needs tls.cert and tls.key"],
    ["a certificate without its key", { tls: { cert: "x.pem" } }, "go together"],
    ["files that are not there", { tls: { cert: "no.pem", key: "no.key" } }, "no.pem cannot be read"],
  ])("%s stops the start and is named", async (_, config, message) => {
    const refused = await openSite({ config }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StartError);
    expect((refused as StartError).message).toContain(message);
  });

  it("a port in use stops the start and is named", async () => {
    const site = await openSite();
    const port = Number(new URL(site.tendon.addresses.mqtt).port);
    const refused = await openSite({ config: { mqtt: { port } } }).catch((error: unknown) => error);
    expect((refused as StartError).message).toBe(
      `MQTT port ${port} on 127.0.0.1 is already in use. Choose another with --mqtt-port, or 0 for a free one.`,
    );
  });
});
