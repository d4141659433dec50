/** Uses every kind of secret, in success and failure, and then searches for each of them everywhere. */
import { randomBytes } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { VirtualDevice } from "@tendon/simulator";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { run, temporaryFolder } from "../packages/cli/test/run-tendon.ts";
import { PostgresServer } from "../packages/gateway/test/store/postgres-server.ts";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { type MqttSettings, MqttWire } from "./mqtt-wire.ts";
import { OtaBoard } from "./ota-board.ts";
import { firmwareHello, RawDevice, textContent, tool } from "./raw-device.ts";
import { secretWatch } from "./secret-watch.ts";
import { adminToken, openSite } from "./site.ts";
import { WebSocketWire } from "./websocket-wire.ts";

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
}, 60_000);

afterAll(async () => {
  await server.remove();
});

const first = "02:00:00:00:00:01";
const imported = "02:00:00:00:00:02";
const camera = "02:00:00:00:00:03";

/** A provider that rejects every request and repeats the key in its answer. */
async function indiscreetProvider(): Promise<string> {
  const provider = http.createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `invalid key ${request.headers.authorization}` } }));
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void provider.close());
  return `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
}

describe("secrets", () => {
  it("are in no log, event, metric, answer, table row, shown setting or doctor output", async () => {
    const storage = (await server.newDatabase()).replace("tendon@", "tendon:storage-secret-0101@");
    const voice = {
      upstream: [{ url: "ws://127.0.0.1:1", signIn: "token" as const }],
      token: "voice-secret-0102",
    };
    const provider = { url: await indiscreetProvider(), model: "eye", apiKey: "provider-secret-0103" };
    const secrets = new Map([
      ["storage-secret-0101", "the storage's password"],
      ["voice-secret-0102", "the voice server's token"],
      ["provider-secret-0103", "the provider's key"],
      [adminToken, "the admin token"],
    ]);
    const keep = (secret: string | undefined, what: string) => {
      expect(secret ?? "").not.toBe("");
      secrets.set(secret ?? "", what);
      secretWatch.keep(secret, what);
    };
    for (const [secret, what] of secrets) secretWatch.keep(secret, what);
    const site = await openSite({
      config: { storage, voice, vision: { provider }, devices: { admission: "approve" } },
    });
    const events = await site.events();
    const shown: string[] = [];
    const rest = async (...question: Parameters<typeof site.rest>) => {
      const answer = await site.rest(...question);
      shown.push(answer.text, JSON.stringify(answer.headers));
      return answer;
    };

    // A board shows its code, is guessed and approved, connects with wrong and right credentials, is called and opens its
    // audio.
    const board = new OtaBoard(site.url, { deviceId: first, clientId: "client-secret-0104-0104-0104" });
    const { code, challenge } = await board.shown();
    keep(challenge, "the activation's challenge");
    keep(board.clientId, "a Client-Id");
    await rest("POST", "/devices/approve", { code: code === "000000" ? "111111" : "000000" });
    await rest("GET", "/devices/pending");
    expect((await rest("POST", "/devices/approve", { code })).status).toBe(200);
    const settings = (await board.mqtt()) as MqttSettings;
    keep(settings.password, "an MQTT password");
    await expect(MqttWire.open({ ...settings, password: "wrong-secret-0105" })).rejects.toThrow("refused");
    const wire = await MqttWire.open(settings);
    const device = new RawDevice(wire, first, false);
    await device.setUp({ tools: [tool("self.lamp.on")] });
    await site.listed(first);
    const call = rest("POST", `/devices/${first}/tools/self.lamp.on/call`, {});
    device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
    const { callId } = (await call).body as { callId?: string };
    await rest("POST", `/devices/${first}/tools/missing/call`, {});
    device.send({ ...firmwareHello, version: 3, transport: "udp" });
    const answer = await until(() =>
      wire.messages.map(({ payload }) => payload.toString()).find((text) => text.includes('"udp"')),
    );
    const { udp } = JSON.parse(answer) as { udp: { key: string; nonce: string } };
    keep(udp.key, "an AES key");
    device.sendText("no JSON, and no harm");

    // An imported board proves its serial number, wrongly and rightly.
    const serial = { number: "SN-0001-abcdef", key: randomBytes(32).toString("hex") };
    keep(serial.key, "an HMAC key");
    await rest("POST", "/devices/import", {
      devices: [{ id: imported, serial: serial.number, hmacKey: serial.key }],
    });
    const listed = new OtaBoard(site.url, {
      deviceId: imported,
      clientId: "client-secret-0106-0106-0106",
      serial,
    });
    keep(listed.clientId, "a Client-Id");
    const asked = await listed.shown();
    expect((await listed.activate(asked.challenge, { hmac: "00".repeat(32) })).status).not.toBe(200);
    await listed.activate(asked.challenge);

    // Missing, wrong, new and revoked tokens.
    const wrong = {
      "Device-Id": first,
      "Client-Id": "client-secret-0107-0107-0107",
      Authorization: "Bearer wrong-secret-0108",
    };
    await WebSocketWire.open(site.url, { headers: wrong }).catch((error: unknown) =>
      shown.push(String(error)),
    );
    keep("client-secret-0107-0107-0107", "a stranger's Client-Id");
    keep("wrong-secret-0108", "a wrong token");
    await rest("GET", "/devices", undefined, { authorization: "Bearer wrong-secret-0108" });
    const made = await site.rest("POST", "/tokens", { name: "reader", scopes: ["read"] });
    const token = String(made.body["token"]);
    keep(token, "a token");
    await rest("GET", "/devices", undefined, { authorization: `Bearer ${token}` });
    await rest("POST", "/tokens", { name: "x", scopes: ["nonsense"], token });
    await rest("DELETE", `/tokens/${String(made.body["id"])}`);
    await rest("GET", "/devices", undefined, { authorization: `Bearer ${token}` });

    // A photo that the vision provider rejects, with the key in its answer.
    const eye = site.tendon.provision(camera, "01090109-0109-4109-8109-010901090109");
    keep(eye.websocket.token, "a device's token");
    const virtual = new VirtualDevice({
      board: { mac: camera, clientId: "01090109-0109-4109-8109-010901090109", name: "camera-board" },
      url: eye.websocket.url,
      token: eye.websocket.token,
    });
    onTestFinished(() => virtual.stop());
    await virtual.connect();
    await site.listed(camera);
    const photo = await rest("POST", `/devices/${camera}/tools/self.camera.take_photo/call`, {
      arguments: { question: "?" },
    });
    expect(photo.text).toContain("image");

    // A database that goes away and comes back.
    const rows = await server.query(storage, everyRow(await tables(storage)));
    await server.stop();
    await rest("GET", "/calls");
    await rest("POST", "/tokens", { name: "y", scopes: ["read"] });
    shown.push((await askAll(site.url, { path: "/readyz" })).text);
    await server.startAgain();
    await until(async () => (await rest("GET", "/calls")).status === 200);
    for (const path of [
      "/devices",
      `/devices/${first}`,
      `/devices/${first}/tools?user=true`,
      `/devices/${first}/frames`,
      `/devices/${camera}/frames`,
      "/devices/pending",
      `/calls/${callId ?? ""}`,
      "/tokens",
      "/approvals",
      "/overview",
      "/nodes",
      "/voice/sessions",
      "/nothing",
    ]) {
      await rest("GET", path);
    }
    shown.push((await askAll(site.url, { path: "/metrics" })).text);
    shown.push((await askAll(site.url, { path: "/api/v1/openapi.json" })).text);
    wire.cut();
    await until(() => events.seen.some(({ type }) => type === "device.offline"));
    shown.push(...events.seen.map(({ raw }) => raw));
    await site.tendon.stop();

    // The shown settings and the doctor's output.
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const env = {
      TENDON_TOKEN: adminToken,
      TENDON_HTTP_PORT: "0",
      TENDON_MQTT_PORT: "0",
      TENDON_VOICE_UDP_PORT: "0",
      TENDON_STORAGE: storage,
      TENDON_VOICE_TOKEN: voice.token,
      TENDON_VOICE_UPSTREAM: JSON.stringify(voice.upstream),
      TENDON_VISION_PROVIDER_URL: provider.url,
      TENDON_VISION_PROVIDER_MODEL: provider.model,
      TENDON_VISION_PROVIDER_API_KEY: provider.apiKey,
      TENDON_MQTT_BROKER: "mqtts://u:broker-secret-0110@127.0.0.1:1",
      TENDON_CLUSTER: "nats://nats-secret-0111@127.0.0.1:1",
    };
    keep("broker-secret-0110", "the broker's password");
    keep("nats-secret-0111", "the cluster's token");
    for (const words of [
      ["config", "show"],
      ["config", "show", "--json"],
      ["config", "check"],
      ["doctor"],
      ["doctor", "--json"],
      ["serve"],
    ]) {
      const { stdout, stderr } = await run(words, { cwd: folder.path, env });
      expect(`${stdout}${stderr}`).not.toBe("");
      shown.push(stdout, stderr);
    }

    const everything = shown.join("\n");
    const found = [...secrets].filter(([secret]) => everything.includes(secret)).map(([, what]) => what);
    expect(found).toEqual([]);
    // The six-digit code does not occur as a separate word either.
    expect(events.seen.map(({ raw }) => raw).join("\n")).not.toMatch(new RegExp(`\\b${code}\\b`));
    // Only the code and its challenge are in the tables in plain text, because they are looked up and compared.
    const kept = JSON.stringify(rows);
    const plain = [...secrets].filter(([secret]) => kept.includes(secret)).map(([, what]) => what);
    expect(plain.filter((what) => what !== "the activation's challenge")).toEqual([]);
    expect(kept).toContain("self.lamp.on");
    // And the gateway's log.
    expect(secretWatch.seen.texts).toBeGreaterThan(50);
    expect(secretWatch.leaks()).toEqual([]);
  }, 120_000);

  it("would be found by the secret watch of every test", () => {
    secretWatch.keep("a-secret-of-this-test", "a secret");
    secretWatch.learn('{"udp":{"key":"00112233445566778899aabbccddeeff"}}', "a frame");
    secretWatch.show("nothing here", "a log line");
    expect(secretWatch.leaks()).toEqual([]);
    secretWatch.show("it is a-secret-of-this-test!", "a log line");
    secretWatch.show('{"k":"00112233445566778899aabbccddeeff"}', "an event");
    expect(secretWatch.leaks()).toEqual([
      expect.stringMatching(/^a secret in a log line: …it is <here>$/),
      expect.stringMatching(/^key \(a frame\) in an event/),
    ]);
    expect(secretWatch.leaks()).toEqual([]);
  });
});

async function tables(storage: string): Promise<string[]> {
  const found = await server.query(
    storage,
    "select tablename from pg_tables where tablename like 'tendon\\_%'",
  );
  return (found as { tablename: string }[]).map(({ tablename }) => tablename);
}

function everyRow(names: readonly string[]): string {
  return names.map((name) => `select row_to_json(t)::text from ${name} t`).join(" union all ");
}
