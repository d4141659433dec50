import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import {
  Flash,
  type ProvisionOptions,
  type ProvisionOutcome,
  provision,
  VirtualDevice,
} from "../src/index.ts";
import { type OtaRequest, ScriptedOta } from "./scripted-ota.ts";

let ota: ScriptedOta;
let clock: ManualClock;
let cancel: AbortController;

beforeEach(async () => {
  ota = await ScriptedOta.start();
  clock = new ManualClock();
  cancel = new AbortController();
});

afterEach(async () => {
  cancel.abort();
  await ota.stop();
  expect(clock.pending).toBe(0);
});

const { board } = new VirtualDevice({
  board: {
    name: "lamp",
    firmware: "2.4.2",
    mac: "02:00:00:00:00:09",
    clientId: "11111111-2222-4333-8444-555555555555",
  },
});
const serial = { number: "SN0123456789", hmacKey: "ab".repeat(32) };

function ask(options: Partial<ProvisionOptions> = {}): Promise<ProvisionOutcome> {
  return provision({ otaUrl: ota.url, board, clock, signal: cancel.signal, ...options });
}

async function answered(
  body: unknown,
  options: Partial<ProvisionOptions> = {},
): Promise<[ProvisionOutcome, OtaRequest]> {
  const outcome = ask(options);
  const request = await ota.requests.take();
  request.answer(200, body);
  return [await outcome, request];
}

/** Advances the clock once the device waits. */
async function passes(ms: number): Promise<void> {
  await clock.running();
  clock.advance(ms);
}

describe("the request", () => {
  it("is a POST of the device's report with the firmware's headers", async () => {
    const [, request] = await answered({ websocket: { url: "ws://h/" } });
    expect(request.method).toBe("POST");
    expect(request.headers).toMatchObject({
      "activation-version": "1",
      "device-id": board.mac,
      "client-id": board.clientId,
      "user-agent": "lamp/2.4.2",
      "accept-language": "en-US",
      "content-type": "application/json",
      connection: "close",
    });
    expect(request.headers["serial-number"]).toBeUndefined();
    expect(request.headers["transfer-encoding"]).toBeUndefined();
    expect(JSON.parse(request.body)).toMatchObject({
      version: 2,
      mac_address: board.mac,
      uuid: board.clientId,
      application: { version: "2.4.2" },
    });
  });

  it("has the serial number of a board that has one", async () => {
    const [, request] = await answered({}, { board: { ...board, serial } });
    expect(request.headers).toMatchObject({ "activation-version": "2", "serial-number": serial.number });
  });
});

describe("the reply", () => {
  const mqtt = { endpoint: "h:1883", client_id: "c", username: "u", password: "p", publish_topic: "t" };

  it("selects MQTT if it contains MQTT settings", async () => {
    const [outcome] = await answered({ mqtt: { ...mqtt, keepalive: 60 }, websocket: { url: "ws://h/" } });
    expect(outcome).toMatchObject({ transport: { kind: "mqtt", settings: { ...mqtt, keepalive: 60 } } });
    const [empty] = await answered({ mqtt: {}, websocket: { url: "ws://h/" } });
    expect(empty).toMatchObject({ transport: { kind: "mqtt", settings: { endpoint: "" } } });
  });

  it("selects WebSocket otherwise, with a numeric version", async () => {
    const [outcome] = await answered({ websocket: { url: "ws://h/ws", token: "t", version: 3 } });
    expect(outcome).toMatchObject({
      transport: { kind: "websocket", settings: { url: "ws://h/ws", token: "t", version: 3 } },
    });
    const [text] = await answered({ mqtt: "no object", websocket: { url: "ws://h/ws", version: "3" } });
    expect(text).toMatchObject({ transport: { kind: "websocket", settings: { version: 1 } } });
  });

  it("does not change settings in flash that it lacks or that are neither text nor number", async () => {
    const flash = new Flash();
    await answered({ mqtt: { ...mqtt, keepalive: 60 } }, { flash });
    const change = { endpoint: "other:1884", password: null, username: { x: 1 }, keepalive: true };
    const [outcome] = await answered({ MQTT: change }, { flash });
    expect(outcome).toMatchObject({
      transport: { kind: "mqtt", settings: { ...mqtt, endpoint: "other:1884", keepalive: 60 } },
    });
    const [silent] = await answered({}, { flash });
    expect(silent).toMatchObject({ transport: { kind: "mqtt", settings: { endpoint: "other:1884" } } });
  });

  it("sets the device's clock to local time", async () => {
    const time = { timestamp: 1_760_000_000_000, timezone_offset: 480 };
    const [outcome] = await answered({ mqtt, server_time: time });
    expect(outcome).toMatchObject({ serverTime: 1_760_000_000_000 + 480 * 60_000 });
  });

  it.each([
    ["2.4.3", undefined, true],
    ["2.5", undefined, true],
    ["2.4.2.1", undefined, true],
    ["10.0.0", undefined, true],
    ["2.4.2", undefined, false],
    ["2.4.1", undefined, false],
    ["2.4", undefined, false],
    ["2.4.2", 1, true],
    ["1.0", 1, true],
    ["2.4.1", true, false],
    ["2.4.3-beta", undefined, true],
  ])("offers firmware %s (force %s): newer %s", async (version, force, newer) => {
    const [outcome] = await answered({ mqtt, firmware: { version, url: "http://h/f.bin", force } });
    expect(outcome).toMatchObject({ kind: "ready" });
    expect(outcome.kind === "ready" && outcome.firmware !== undefined).toBe(newer);
  });

  it.each([
    ["a firmware version with a letter first", { firmware: { version: "v2.5", url: "u" } }],
    ["a setting whose name is 16 long", { mqtt: { abcdefghijklmnop: "x" } }],
    ["a number whose name is 16 long", { websocket: { abcdefghijklmnop: 1 } }],
    ["a setting of 4000 bytes", { mqtt: { password: "é".repeat(2000) } }],
  ])("%s crashes the device", async (_name, body) => {
    expect((await answered(body))[0]).toMatchObject({ kind: "fatal" });
  });

  it.each([
    ["a setting whose name is 15 long", { mqtt: { subscribe_topic: "x" } }],
    ["a setting of 3999 bytes", { mqtt: { password: "x".repeat(3999) } }],
    ["flags under long names", { mqtt: { abcdefghijklmnop: true } }],
    ["a list", [1]],
  ])("%s is handled", async (_name, body) => {
    expect((await answered(body))[0]).toMatchObject({ kind: "ready" });
  });

  it("of 8 KB hangs the device, one byte less does not", async () => {
    const sized = (bytes: number): string => `{"x":"${"y".repeat(bytes - 8)}"}`;
    expect((await answered(sized(8191)))[0]).toMatchObject({ kind: "ready" });
    expect((await answered(sized(8192)))[0]).toMatchObject({ kind: "failed", code: "ota_hung" });
  });

  it.each([201, 301, 302, 404, 500])("with status %i is ignored", async (status) => {
    const failures: string[] = [];
    const outcome = ask({ attempts: 1, checkFailed: (_attempt, detail) => failures.push(detail) });
    const request = await ota.requests.take();
    request.response.setHeader("Location", ota.url);
    request.answer(status, { mqtt });
    expect(await outcome).toMatchObject({ kind: "failed", code: "ota_failed" });
    expect(failures[0]).toContain(String(status));
  });

  it("is ignored when it is not JSON or breaks off", async () => {
    const outcome = ask({ attempts: 2 });
    (await ota.requests.take()).answer(200, "<html>");
    await passes(10_000);
    const request = await ota.requests.take();
    request.response.writeHead(200, { "content-length": "100" });
    request.response.write("{", () => request.response.destroy());
    expect(await outcome).toMatchObject({ kind: "failed", code: "ota_failed" });
  });
});

describe("a failed request", () => {
  it("is repeated ten times, with doubling pauses", async () => {
    const outcome = ask();
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      (await ota.requests.take()).answer(500);
      if (attempt < 10) await passes(10_000 * 2 ** (attempt - 1));
    }
    expect(await outcome).toMatchObject({ kind: "failed", code: "ota_failed" });
    expect(clock.requested).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560].map((s) => s * 1_000));
  });

  it("falls back to the broker in flash", async () => {
    const flash = new Flash();
    await answered({ mqtt: { endpoint: "h:1883" } }, { flash });
    const outcome = ask({ flash, attempts: 1 });
    (await ota.requests.take()).answer(500);
    expect(await outcome).toMatchObject({ transport: { kind: "mqtt", settings: { endpoint: "h:1883" } } });
  });

  it("includes addresses that are too short", async () => {
    expect(await ask({ otaUrl: "http://a", attempts: 1 })).toMatchObject({ code: "ota_failed" });
  });

  it("ends when it is cancelled, also during a pause", async () => {
    const outcome = ask();
    (await ota.requests.take()).answer(500);
    await clock.running();
    cancel.abort();
    expect(await outcome).toMatchObject({ kind: "failed", code: "stopped" });
  });
});

describe("activation", () => {
  const pending = { activation: { code: "123456", message: "enter 123456", challenge: "ch" } };

  it("shows the code and polls until it is approved, then requests the settings again", async () => {
    const shown: string[] = [];
    const outcome = ask({ shown: (code, message) => shown.push(`${code} (${message})`) });
    (await ota.requests.take()).answer(200, pending);
    const first = await ota.requests.take();
    expect(first).toMatchObject({ method: "POST", path: "/xiaozhi/ota/activate", body: "{}" });
    expect(first.headers["device-id"]).toBe(board.mac);
    first.answer(202);
    await passes(3_000);
    (await ota.requests.take()).answer(500);
    await passes(10_000);
    (await ota.requests.take()).answer(200);
    const check = await ota.requests.take();
    expect(check.path).toBe("/xiaozhi/ota/");
    check.answer(200, { mqtt: { endpoint: "h:1883" } });
    expect(await outcome).toMatchObject({ kind: "ready" });
    expect(shown).toEqual(["123456 (enter 123456)"]);
    expect(clock.requested).toEqual([3_000, 10_000]);
  });

  it("proves the serial number of a board that has one, also at an address without a slash", async () => {
    void ask({ board: { ...board, serial }, otaUrl: ota.url.slice(0, -1) });
    (await ota.requests.take()).answer(200, pending);
    const { path, body } = await ota.requests.take();
    expect(path).toBe("/xiaozhi/ota/activate");
    expect(JSON.parse(body)).toEqual({
      algorithm: "hmac-sha256",
      serial_number: serial.number,
      challenge: "ch",
      hmac: createHmac("sha256", Buffer.from(serial.hmacKey, "hex")).update("ch").digest("hex"),
    });
  });

  it("requests the settings again after ten attempts", async () => {
    const shown: string[] = [];
    void ask({ shown: (code) => shown.push(code) });
    (await ota.requests.take()).answer(200, pending);
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const request = await ota.requests.take();
      expect(request.path).toBe("/xiaozhi/ota/activate");
      request.answer(202);
      await passes(3_000);
    }
    const check = await ota.requests.take();
    expect(check.path).toBe("/xiaozhi/ota/");
    check.answer(200, pending);
    await ota.requests.take();
    expect(shown).toEqual(["123456", "123456"]);
  });

  it("sends nothing without a challenge, and waits", async () => {
    void ask();
    (await ota.requests.take()).answer(200, { activation: { code: "1" } });
    for (let attempt = 0; attempt < 10; attempt += 1) await passes(10_000);
    expect((await ota.requests.take()).path).toBe("/xiaozhi/ota/");
  });
});
