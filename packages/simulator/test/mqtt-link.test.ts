import fs from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { selfSigned } from "../../../test/self-signed.ts";
import { MqttLink } from "../src/esp32/mqtt-link.ts";
import { keepaliveSeconds, type MqttOptions, parseEndpoint } from "../src/esp32/mqtt-settings.ts";
import type { OpenOutcome } from "../src/index.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

let broker: ScriptedBroker;
let cert = "";
const links: MqttLink[] = [];

afterEach(async () => {
  for (const link of links.splice(0)) link.drop();
  await broker.stop();
});

async function dialled(tls: boolean, options: Partial<MqttOptions> = {}, pings = true): Promise<OpenOutcome> {
  return await new Promise((resolve) => {
    const address = { host: "127.0.0.1", port: broker.port, tls };
    const link = new MqttLink({ ...broker.settings, ...options }, address, {
      pings,
      settled: resolve,
      message: () => undefined,
      lost: () => undefined,
      flooded: () => undefined,
    });
    links.push(link);
  });
}

describe("TLS", () => {
  beforeEach(async () => {
    const files = selfSigned();
    cert = fs.readFileSync(files.cert, "utf8");
    broker = await ScriptedBroker.start({ tls: { cert, key: fs.readFileSync(files.key, "utf8") } });
  });

  it("trusts the configured authority", async () => {
    expect(await dialled(true, { ca: cert })).toEqual({ ok: true });
  });

  it("trusts any server when certificates are not verified", async () => {
    expect(await dialled(true, { insecureTls: true })).toEqual({ ok: true });
  });

  it("does not trust an unknown authority", async () => {
    expect(await dialled(true)).toMatchObject({ ok: false, code: "unreachable" });
  });

  it("and plain TCP cannot connect to each other", async () => {
    expect(await dialled(false, { connectMs: 200 })).toMatchObject({ ok: false });
  });
});

describe("pings", () => {
  it("are sent in time, and never when they are disabled", async () => {
    broker = await ScriptedBroker.start();
    expect(await dialled(false, { keepalive: 1 }, false)).toEqual({ ok: true });
    expect(await dialled(false, { keepalive: 1 })).toEqual({ ok: true });
    const silent = await broker.connections.take();
    const lively = await broker.connections.take();
    await lively.pings.take();
    await lively.pings.take();
    expect(silent.pings.waiting).toEqual([]);
    expect(links.every((link) => link.up)).toBe(true);
  });
});

describe("settings", () => {
  beforeEach(async () => {
    broker = await ScriptedBroker.start();
  });

  it.each([
    ["host", { host: "host", port: 8883, tls: true }],
    ["host:8883", { host: "host", port: 8883, tls: true }],
    ["host:1883", { host: "host", port: 1883, tls: false }],
    ["host:18830", { host: "host", port: 18_830, tls: false }],
    ["host:1883/path", { host: "host", port: 1883, tls: false }],
    ["host:", undefined],
    ["host:mqtt", undefined],
  ])("the endpoint %s", (endpoint, address) => {
    expect(parseEndpoint(endpoint)).toEqual(address);
  });

  it.each([
    [undefined, 240],
    [60, 60],
    [0, 120],
    [-1, 120],
    [70_000, 120],
  ])("a keepalive of %s is %i s", (keepalive, seconds) => {
    const settings = { endpoint: "h", client_id: "c", publish_topic: "t" };
    expect(keepaliveSeconds(keepalive === undefined ? settings : { ...settings, keepalive })).toBe(seconds);
  });
});
