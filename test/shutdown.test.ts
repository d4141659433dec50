import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { StartError, startTendon } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { askForSettings, dial, MqttWire, mqttTransport } from "./mqtt-wire.ts";
import { textContent, tool } from "./raw-device.ts";
import { selfSigned } from "./self-signed.ts";
import { adminToken, openSite, type Site } from "./site.ts";

async function stopping(site: Site): Promise<void> {
  await until(async () => (await askAll(site.url, { path: "/readyz" })).status === 503, "the stop to begin");
}

describe("a gateway that stops", () => {
  it("lets a running call finish, rejects new ones, and notifies its devices", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const running = site.call(device.id, "a");
    const { id } = await device.nextRequest("tools/call");
    const stopped = site.tendon.stop();
    await stopping(site);
    expect((await askAll(site.url, { path: "/readyz" })).body).toMatchObject({ status: "unready" });
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
    const refused = await site.call(device.id, "a");
    expect([refused.status, refused.body["code"], refused.body["retryable"]]).toEqual([
      503,
      "shutting_down",
      true,
    ]);
    device.reply(id, textContent("just in time"));
    expect((await running).body["result"]).toEqual(textContent("just in time"));
    expect(await device.wire.ended).toEqual({ code: 1001, reason: "the gateway is stopping" });
    await stopped;
  });

  it("fails calls that do not finish in time, with a code", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    const running = site.call(device.id, "a");
    await device.nextRequest("tools/call");
    const waiting = site.call(device.id, "a");
    await until(async () => (await site.device(device.id))["queuedCalls"] === 1);
    const stopped = site.tendon.stop();
    await stopping(site);
    clock.advance(2_000);
    expect((await running).body).toMatchObject({ code: "device_disconnected", sent: true });
    expect((await waiting).body).toMatchObject({ code: "device_disconnected", sent: false });
    await stopped;
  });

  it("rejects new devices, closes those without a hello, and ends event streams", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    const silent = await site.connect({ deviceId: "02:00:00:00:00:02" });
    const reader = await site.events();
    const stopped = site.tendon.stop();
    expect((await device.wire.ended).code).toBe(1001);
    expect((await silent.wire.ended).code).toBe(1001);
    await stopped;
    await reader.ended;
    await expect(site.connect({ deviceId: "02:00:00:00:00:03" })).rejects.toThrow();
  });

  it("rejects new boards over MQTT, and lets connected ones finish their calls", async () => {
    const site = await openSite();
    const device = await site.join({ transport: mqttTransport, tools: [tool("a")] });
    const claim = { deviceId: "02:00:00:00:00:02", clientId: "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a02" };
    const settings = await askForSettings(site.url, claim);
    const early = dial(settings.endpoint);
    await once(early, "connect");
    const running = site.call(device.id, "a");
    const { id } = await device.nextRequest("tools/call");
    const stopped = site.tendon.stop();
    await stopping(site);
    const late = dial(settings.endpoint);
    const [refused] = (await once(late, "error")) as [NodeJS.ErrnoException];
    expect(refused.code).toBe("ECONNREFUSED");
    // A client that had connected before gets "server unavailable".
    await expect(MqttWire.open(settings, {}, early)).rejects.toMatchObject({ returnCode: 3 });
    expect(await site.metric('tendon_connections_refused_total{code="shutting_down"}')).toBe(1);
    device.reply(id, textContent("just in time"));
    expect((await running).body["result"]).toEqual(textContent("just in time"));
    await device.wire.ended;
    await stopped;
  });

  it("frees its port, removes its file from the data folder, and can be stopped twice", async () => {
    const site = await openSite();
    const port = Number(new URL(site.url).port);
    const mark = path.join(site.folder, "gateway.json");
    expect(JSON.parse(fs.readFileSync(mark, "utf8"))).toMatchObject({ url: site.url });
    await Promise.all([site.tendon.stop(), site.tendon.stop()]);
    await site.tendon.stop();
    expect(fs.existsSync(mark)).toBe(false);
    const server = net.createServer();
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
    await once(server, "close");
  });

  it("leaves no timer of its own behind", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    const answer = site.call(device.id, "a");
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    await answer;
    await site.tendon.stop();
    expect(clock.pending).toBe(0);
  });

  it("leaves nothing that keeps the process running", async () => {
    const kept = () => process.getActiveResourcesInfo().filter((kind) => /TCP|Timeout/.test(kind));
    await until(() => kept().length === 0, "the end of what other tests left");
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const reader = await site.events();
    const caller = new AbortController();
    const at = `/devices/${device.id}/tools/a/call`;
    const abandoned = site.rest("POST", at, {}, {}, caller.signal).catch(() => "hung up");
    await device.nextRequest("tools/call");
    caller.abort();
    expect(await abandoned).toBe("hung up");
    expect(kept()).toContain("TCPServerWrap");
    await site.tendon.stop();
    await reader.ended;
    await until(() => kept().length === 0, "the end of every handle");
    expect(kept()).toEqual([]);
  });
});

describe("a gateway that cannot start", () => {
  it("reports that the port is in use", async () => {
    const site = await openSite();
    const port = Number(new URL(site.url).port);
    const failed = await startTendon(
      { http: { port }, mqtt: { port: 0 }, data: path.join(site.folder, "other"), log: { level: "silent" } },
      { adminToken },
    ).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StartError);
    expect((failed as StartError).message).toBe(
      `Port ${port} on 127.0.0.1 is taken. Choose another with --port, or 0 for any free one.`,
    );
  });

  it("reports that the TLS port of MQTT is in use, and the setting for it", async () => {
    const site = await openSite();
    const port = Number(new URL(site.url).port);
    const failed = await openSite({ config: { tls: selfSigned(), mqtt: { tlsPort: port } } }).catch(
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(StartError);
    expect((failed as StartError).message).toBe(
      `MQTT TLS port ${port} on 127.0.0.1 is already in use. Choose another with \`mqtt.tlsPort\`, or 0 for a free one.`,
    );
  });

  it("reports that the data folder cannot be used", async () => {
    const site = await openSite();
    const file = path.join(site.folder, "a-file");
    fs.writeFileSync(file, "");
    const failed = await startTendon({
      http: { port: 0 },
      mqtt: { port: 0 },
      data: file,
      log: { level: "silent" },
    }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StartError);
    expect((failed as StartError).message).toContain(file);
    expect((failed as StartError).message).toContain("A file has this name: move it away");
    expect((failed as StartError).message).not.toContain("permissions");
  });
});

describe("the admin token", () => {
  it("is created at the first start, readable only by its owner, and used again", async () => {
    const site = await openSite();
    const data = path.join(site.folder, "fresh");
    const settings = { http: { port: 0 }, mqtt: { port: 0 }, data, log: { level: "silent" as const } };
    const first = await startTendon(settings);
    await first.stop();
    const second = await startTendon(settings);
    const token = second.adminToken?.secret ?? "";
    const headers = { authorization: `Bearer ${token}` };
    const { status } = await askAll(second.url, { path: "/api/v1/devices", headers });
    await second.stop();
    expect(status).toBe(200);
    expect([first.adminToken?.isNew, second.adminToken?.isNew]).toEqual([true, false]);
    expect(first.adminToken?.secret).toBe(token);
    expect(fs.statSync(path.join(data, "admin-token")).mode & 0o777).toBe(0o600);
  });
});
