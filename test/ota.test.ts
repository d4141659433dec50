import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, askAll, type Json } from "./http-client.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { brokerEndpoint } from "./mqtt-app.ts";
import { MqttRefused, type MqttSettings, MqttWire } from "./mqtt-wire.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";
const tenMinutes = 10 * 60_000;

interface OtaAsk {
  readonly deviceId?: string;
  readonly clientId?: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function askOta(site: Site, options: OtaAsk = {}): Promise<Answer> {
  const { method = "POST", path = "/xiaozhi/ota/", headers = {} } = options;
  return await askAll(site.url, {
    method,
    path,
    headers: {
      "device-id": options.deviceId ?? firstDevice,
      "client-id": options.clientId ?? clientId,
      "content-type": "application/json",
      "user-agent": "esp-box-3/2.4.2",
      "accept-language": "zh-CN",
      "activation-version": "1",
      ...headers,
    },
    body: method === "GET" ? undefined : (options.body ?? '{"version":2,"application":{"version":"2.4.2"}}'),
  });
}

function mqttOf(answer: Answer): MqttSettings {
  return answer.body["mqtt"] as unknown as MqttSettings;
}

function keysOf(value: Json): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    ...(Array.isArray(value) ? [] : [key]),
    ...keysOf(child),
  ]);
}

async function signsIn(settings: MqttSettings): Promise<boolean> {
  try {
    (await MqttWire.open(settings)).cut();
    return true;
  } catch (error) {
    if (error instanceof MqttRefused) return false;
    throw error;
  }
}

describe("settings for a board", () => {
  it.each(["mqtt", "websocket"] as const)(
    "[OTA-1][OTA-3] are answered with 200, small, short-keyed, with %s and nothing else",
    async (transport) => {
      const site = await openSite({ config: { devices: { transport } } });
      const answer = await askOta(site);
      expect(answer.status).toBe(200);
      expect(answer.headers["content-type"]).toContain("application/json");
      expect(Buffer.byteLength(answer.text)).toBeLessThan(8 * 1024);
      for (const key of keysOf(answer.body)) expect(key.length).toBeLessThanOrEqual(15);
      expect(Object.keys(answer.body).sort()).toEqual(["firmware", transport, "server_time"].sort());
      const settings =
        transport === "mqtt"
          ? {
              endpoint: brokerEndpoint(site),
              client_id: `TENDON@@@02_00_00_00_00_01@@@${clientId}`,
              username: firstDevice,
              password: expect.stringMatching(/^[A-Za-z0-9_-]{20,}$/),
              publish_topic: "device-server",
              keepalive: 60,
            }
          : {
              url: `${site.url.replace("http", "ws")}/xiaozhi/v1/`,
              token: expect.stringMatching(/^[A-Za-z0-9_-]{20,}$/),
              version: 1,
            };
      expect(answer.body[transport]).toEqual(settings);
    },
  );

  it.each([
    ["POST", "/xiaozhi/ota/"],
    ["POST", "/xiaozhi/ota"],
    ["GET", "/xiaozhi/ota/"],
    ["GET", "/xiaozhi/ota"],
    ["POST", "/xiaozhi/ota/?from=factory"],
  ])("[OTA-1] %s %s is answered, never redirected", async (method, path) => {
    const site = await openSite();
    const answer = await askOta(site, { method, path });
    expect([answer.status, answer.headers.location]).toEqual([200, undefined]);
    expect(mqttOf(answer).client_id).toContain(clientId);
  });

  it.each([
    ["a quote in the network's name", '{"version":2,"board":{"ssid":"my "home""}}', {}],
    ["no body", "", {}],
    ["bytes that are not UTF-8", "\u0000\ufffd", {}],
    ["another content type", "x=1", { "content-type": "application/x-www-form-urlencoded" }],
    ["a content type that is none", "{}", { "content-type": "json" }],
    ["an empty content type", "{}", { "content-type": "" }],
    ["a list", "[]", {}],
    ["20 KB", JSON.stringify({ pad: "x".repeat(20_000) }), {}],
  ])("[OTA-1] a board with %s in its body still gets its settings", async (_, body, headers) => {
    const site = await openSite();
    const answer = await askOta(site, { body, headers });
    expect(answer.status).toBe(200);
    expect(mqttOf(answer).client_id).toContain(clientId);
    // The User-Agent has it too.
    expect(answer.body["firmware"]).toEqual({ version: "2.4.2", url: "" });
  });

  it.each([
    ["2.4.2", "2.4.2"],
    ["1.0", "1.0"],
    ["10", "10"],
    ["v2.0", "0.0.0"],
    ["2.0-beta", "0.0.0"],
    ["", "0.0.0"],
    ["2..1", "0.0.0"],
    ["99999999999999999999", "0.0.0"],
    [5, "0.0.0"],
    [null, "0.0.0"],
  ])("[OTA-1] a board with version %j gets %s: numbers and dots, nothing newer", async (version, told) => {
    const site = await openSite();
    const { body } = await askOta(site, { body: JSON.stringify({ application: { version } }) });
    expect(body["firmware"]).toEqual({ version: told, url: "" });
  });

  it("[OTA-1] the time is the gateway's, in ms, with its offset in minutes", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const { body } = await askOta(site);
    const offset = 0 - new Date(clock.now()).getTimezoneOffset();
    expect(body["server_time"]).toEqual({ timestamp: clock.now(), timezone_offset: offset });
  });

  it.each([
    ["no Device-Id", { "device-id": "" }],
    ["no Client-Id", { "client-id": "" }],
    ["a Device-Id that is a path", { "device-id": "../x" }],
    ["a Client-Id of 129 characters", { "client-id": "x".repeat(129) }],
  ])("[OTA-1] %s is a bad request", async (_, headers) => {
    const site = await openSite();
    const answer = await askOta(site, { headers });
    expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
  });

  it.each(["02:00:00:00:00:01", "02-00-00-00-00-01", "020000000001", "02:00:00:00:00:01 "])(
    "[OTA-3] a repeated request, also as %j, gets the same settings",
    async (deviceId) => {
      const site = await openSite();
      const first = mqttOf(await askOta(site));
      expect(mqttOf(await askOta(site, { deviceId }))).toEqual(first);
    },
  );

  it("[OTA-4] addresses come from the configuration, never from the request", async () => {
    const odd = {
      headers: { host: "evil.example:99", "x-forwarded-host": "evil.example", origin: "http://evil.example" },
    };
    const plain = await openSite();
    expect(mqttOf(await askOta(plain, odd)).endpoint).toBe(brokerEndpoint(plain));
    const named = await openSite({ config: { http: { publicUrl: "https://tendon.example/" } } });
    const port = brokerEndpoint(named).split(":")[1];
    expect(mqttOf(await askOta(named, odd)).endpoint).toBe(`tendon.example:${port}`);
    const given = await openSite({
      config: {
        http: { publicUrl: "https://tendon.example" },
        mqtt: { publicEndpoint: "mqtt.example:8883" },
      },
    });
    expect(mqttOf(await askOta(given, odd)).endpoint).toBe("mqtt.example:8883");
    const socket = await openSite({
      config: { http: { publicUrl: "https://tendon.example" }, devices: { transport: "websocket" } },
    });
    expect((await askOta(socket, odd)).body["websocket"]).toMatchObject({
      url: "wss://tendon.example/xiaozhi/v1/",
    });
  });
});

describe("who gets settings", () => {
  it("[PRV-1] another Client-Id of a known Device-Id gets only a code, and the first keeps its credentials", async () => {
    const site = await openSite();
    const first = mqttOf(await askOta(site));
    const other = await askOta(site, { clientId: "another-board" });
    expect(other.status).toBe(200);
    expect(Object.keys(other.body).sort()).toEqual(["activation", "firmware", "server_time"]);
    expect(await signsIn(first)).toBe(true);
  });

  it("[OTA-2] unused credentials expire after ten minutes, and the id is free again", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const first = mqttOf(await askOta(site));
    clock.advance(tenMinutes - 1);
    expect(mqttOf(await askOta(site, { clientId: "another-board" }))).toBeUndefined();
    clock.advance(1);
    const second = mqttOf(await askOta(site, { clientId: "another-board" }));
    expect(second.client_id).toContain("another-board");
    expect(await signsIn(first)).toBe(false);
    expect(await signsIn(second)).toBe(true);
  });

  it("[OTA-2] used credentials do not expire", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const first = mqttOf(await askOta(site));
    expect(await signsIn(first)).toBe(true);
    clock.advance(100 * tenMinutes);
    expect(mqttOf(await askOta(site, { clientId: "another-board" }))).toBeUndefined();
    expect(mqttOf(await askOta(site))).toEqual(first);
    expect(await signsIn(first)).toBe(true);
  });

  it.each(["approve", "closed"] as const)(
    "[OTA-2] with admission %s an unknown board gets no settings, a provisioned one always gets them",
    async (admission) => {
      const clock = new ManualClock();
      const site = await openSite({ clock, config: { devices: { admission } } });
      const unknown = await askOta(site);
      const told = admission === "closed" ? [] : ["activation"];
      expect([unknown.status, Object.keys(unknown.body).sort()]).toEqual([
        200,
        [...told, "firmware", "server_time"],
      ]);
      const refused = await site.metric('tendon_connections_refused_total{code="forbidden"}');
      expect(refused).toBe(admission === "closed" ? 1 : 0);
      const made = await site.rest("POST", "/devices/provision", { id: firstDevice, clientId });
      expect(made.status).toBe(201);
      // An operator created them; the board may not have been started yet.
      clock.advance(2 * tenMinutes);
      expect((await askOta(site)).body["mqtt"]).toEqual(made.body["mqtt"]);
      expect(mqttOf(await askOta(site, { clientId: "another-board" }))).toBeUndefined();
      expect(await signsIn(mqttOf(await askOta(site)))).toBe(true);
    },
  );
});

describe("a virtual board that knows only the OTA address", () => {
  it.each(["mqtt", "websocket"] as const)("[OTA-3] becomes callable over %s", async (transport) => {
    const site = await openSite({ config: { devices: { transport } } });
    const device = new VirtualDevice({ otaUrl: site.tendon.addresses.ota, autoReconnect: false });
    onTestFinished(() => device.stop());
    await device.connect();
    await until(async () => (await site.device(device.id))["toolsComplete"] === true, "a list");
    const answer = await site.call(device.id, "self.audio_speaker.set_volume", { volume: 12 });
    expect(answer.status).toBe(200);
    expect(device.state.get("volume")).toBe(12);
    expect(await site.device(device.id)).toMatchObject({ transport, online: true });
    const stepped = await site.rest("POST", `/devices/${device.id}/control`, {
      action: "volume_up",
      step: 3,
    });
    expect(stepped.body).toMatchObject({ ok: true });
    expect(device.state.get("volume")).toBe(15);
  });
});
