/** The HTTP port with TLS: addresses, connections, and certificate renewal at run time. */
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import tls from "node:tls";
import { StartError } from "@tendon/gateway";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { ManualClock } from "./manual-clock.ts";
import { selfSigned } from "./self-signed.ts";
import { adminToken, openSite, type Site, type SiteOptions } from "./site.ts";

interface Files {
  readonly cert: string;
  readonly key: string;
}

async function secureSite(files: Files, options: SiteOptions = {}): Promise<Site> {
  return await openSite({
    ...options,
    config: { ...options.config, tls: files, mqtt: { tlsPort: 0 } },
  });
}

/** Connects and returns the server's certificate; the connection stays open until the test ends. */
async function dial(port: number): Promise<{ socket: tls.TLSSocket; shown: string }> {
  const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return { socket, shown: socket.getPeerCertificate().fingerprint256 };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function refusedStart(tlsFiles: object): Promise<string> {
  const refused = await openSite({ config: { tls: tlsFiles, mqtt: { tlsPort: 0 } } }).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(StartError);
  return (refused as StartError).message;
}

function copy(from: Files, to: Files): void {
  for (const part of ["cert", "key"] as const) fs.copyFileSync(from[part], to[part]);
}

describe("with tls.cert and tls.key", () => {
  it("[TLS-1] all addresses use TLS, and REST answers over TLS", async () => {
    const site = await secureSite(selfSigned());
    expect(site.tendon.addresses).toMatchObject({
      local: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      public: expect.stringMatching(/^https:/),
      ota: expect.stringMatching(/^https:.*\/xiaozhi\/ota\/$/),
      deviceWebSocket: expect.stringMatching(/^wss:/),
    });
    expect((await site.rest("GET", "/devices")).status).toBe(200);
    const foreign = await site.rest("GET", "/devices", undefined, { origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    const events = await site.events();
    const device = await site.join();
    expect(await events.nextOf("device.online")).toMatchObject({ device: device.id });
  });

  it("[TLS-1] a virtual board that trusts the certificate connects with only its OTA address", async () => {
    const files = selfSigned();
    const site = await secureSite(files, { config: { devices: { transport: "websocket" } } });
    const make = (options: object) => {
      const device = new VirtualDevice({
        otaUrl: site.tendon.addresses.ota,
        autoReconnect: false,
        ...options,
      });
      onTestFinished(() => device.stop());
      return device;
    };
    const device = make({ tls: { ca: fs.readFileSync(files.cert) } });
    await device.connect();
    await site.listed(device.id);
    const answer = await site.call(device.id, "self.get_device_status");
    expect(answer.status).toBe(200);
    // Like a Wi-Fi board, which rejects certificates that no public authority signed.
    const stranger = make({});
    const failed = stranger.waitFor("ota-failed");
    const attempt = stranger.connect().catch(() => undefined);
    expect((await failed).detail).toContain("no answer");
    await stranger.stop();
    await attempt;
  });

  it("[TLS-1] with `mqtt.port: off`, MQTT has no plain port, and boards get the port of TLS", async () => {
    const files = selfSigned();
    const site = await openSite({ config: { tls: files, mqtt: { port: "off", tlsPort: 0 } } });
    const { mqtt, mqtts, deviceMqtt } = site.tendon.addresses;
    expect(mqtt).toBe(mqtts);
    expect(deviceMqtt).toBe(new URL(mqtt).host);
    expect((await dial(portOf(mqtt))).socket.encrypted).toBe(true);
    const { body } = await site.rest("POST", "/devices/provision", {
      id: "02:00:00:00:00:09",
      clientId: "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a09",
    });
    expect(body).toMatchObject({ mqtt: { endpoint: deviceMqtt } });
    const { body: settings } = await site.rest("GET", "/settings");
    expect(settings["settings"]).toContainEqual(expect.objectContaining({ name: "mqtt.port", value: "off" }));
    const plain = await openSite({ config: { mqtt: { port: "off" } } }).catch((error: unknown) => error);
    expect(plain).toBeInstanceOf(StartError);
    expect((plain as StartError).message).toContain("`mqtt.port: off` needs tls.cert and tls.key");
  });

  it("[TLS-1] apps connect over wss", async () => {
    const files = selfSigned();
    const site = await secureSite(files);
    const socket = new WebSocket(`${site.url.replace("http", "ws")}/mqtt`, "mqtt", {
      ca: fs.readFileSync(files.cert),
    });
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    expect(socket.protocol).toBe("mqtt");
  });

  it("[TLS-1] plain HTTP on that port gets no answer, and does not affect others", async () => {
    const site = await secureSite(selfSigned());
    const socket = net.connect(portOf(site.url), "127.0.0.1");
    let heard = "";
    socket.on("data", (chunk) => {
      heard += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.write(`GET /api/v1/devices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`);
    await once(socket, "close");
    expect(heard).not.toContain("200");
    expect((await site.rest("GET", "/devices")).status).toBe(200);
  });
});

describe("files that cannot be used", () => {
  it("[TLS-1] stop the start, each with its own message", async () => {
    const good = selfSigned();
    const other = selfSigned();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-tls-"));
    onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
    const junk = path.join(folder, "junk.pem");
    fs.writeFileSync(junk, "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n");
    expect(await refusedStart({ cert: good.cert, key: other.key })).toContain("is not the key of tls.cert");
    expect(await refusedStart({ cert: junk, key: good.key })).toContain("is not a certificate in PEM");
    expect(await refusedStart({ cert: good.cert, key: junk })).toContain("is not a private key in PEM");
    expect(await refusedStart({ cert: good.key, key: good.key })).toContain("is not a certificate in PEM");
    expect(await refusedStart({ cert: good.cert, key: path.join(folder, "no.pem") })).toContain(
      "no.pem cannot be read",
    );
    expect(await refusedStart({ cert: folder, key: good.key })).toContain("is not a file");
    expect(await refusedStart({ cert: good.cert })).toContain("go together");
  });

  it("[TLS-1] an expired certificate stops the start, with its expiry date", async () => {
    const clock = new ManualClock();
    clock.advance(100 * 365 * 86_400_000);
    const { cert, key } = selfSigned();
    const refused = openSite({ clock, config: { tls: { cert, key }, mqtt: { tlsPort: 0 } } });
    await expect(refused).rejects.toThrow(/has expired: it was valid until/);
  });
});

describe("a renewed certificate", () => {
  it("[TLS-2] is served to new connections on HTTP and MQTT, while open ones stay", async () => {
    const files = selfSigned();
    const mqttPort = await freePort();
    const site = await openSite({ config: { tls: files, mqtt: { tlsPort: mqttPort } } });
    const ports = [portOf(site.url), mqttPort];
    const before = await Promise.all(ports.map(dial));
    const events = await site.events();
    copy(selfSigned(), files);
    expect(site.tendon.reloadCertificate()).toBe(true);
    const after = await Promise.all(ports.map(dial));
    for (const [index, { shown }] of after.entries()) expect(shown).not.toBe(before[index]?.shown);
    for (const { socket } of before) expect(socket.destroyed).toBe(false);
    const device = await site.join();
    expect(await events.nextOf("device.online")).toMatchObject({ device: device.id });
  });

  it("[TLS-2] is used only as a valid pair; until then the old one is served", async () => {
    const clock = new ManualClock();
    const files = selfSigned();
    const site = await secureSite(files, { clock });
    const { shown: first } = await dial(portOf(site.url));
    const next = selfSigned();
    fs.copyFileSync(next.cert, files.cert);
    clock.advance(30_000);
    expect((await dial(portOf(site.url))).shown).toBe(first);
    fs.rmSync(files.key);
    clock.advance(30_000);
    expect((await dial(portOf(site.url))).shown).toBe(first);
    fs.copyFileSync(next.key, files.key);
    clock.advance(30_000);
    expect((await dial(portOf(site.url))).shown).not.toBe(first);
    expect(site.tendon.reloadCertificate()).toBe(false);
  });
});

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
