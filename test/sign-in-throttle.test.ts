import { once } from "node:events";
import { Writable } from "node:stream";
import { limits } from "@tendon/protocol";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { ManualClock } from "./manual-clock.ts";
import { brokerEndpoint } from "./mqtt-app.ts";
import { dial, MqttRefused, type MqttSettings, MqttWire } from "./mqtt-wire.ts";
import { OtaBoard } from "./ota-board.ts";
import { adminToken, firstDevice, openSite, type Site } from "./site.ts";
import { Refused, WebSocketWire } from "./websocket-wire.ts";

const secondDevice = "02:00:00:00:00:02";
const clientId = "7f0c9d3a-5b1e-4a77-9a44-000000000001";

async function overWebSocket(site: Site, deviceId: string, token: string, from?: string): Promise<number> {
  const headers = {
    "Device-Id": deviceId,
    "Client-Id": clientId,
    Authorization: `Bearer ${token}`,
    ...(from === undefined ? {} : { "X-Forwarded-For": from }),
  };
  try {
    (await WebSocketWire.open(site.url, { headers })).cut();
    return 101;
  } catch (error) {
    if (error instanceof Refused) return error.status;
    throw error;
  }
}

async function overMqtt(settings: MqttSettings): Promise<number> {
  try {
    (await MqttWire.open(settings)).cut();
    return 0;
  } catch (error) {
    if (error instanceof MqttRefused) return error.returnCode;
    throw error;
  }
}

async function times<Value>(count: number, work: () => Promise<Value>): Promise<Value[]> {
  const results: Value[] = [];
  for (let index = 0; index < count; index += 1) results.push(await work());
  return results;
}

/** Two devices with credentials, and the number of log lines about rejections. */
async function openGuarded(config: Parameters<typeof openSite>[0] = {}) {
  let refusals = 0;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (chunk.includes("device refused")) refusals += 1;
      done();
    },
  });
  const clock = new ManualClock();
  const site = await openSite({ clock, logger: pino({ level: "warn" }, stream), ...config });
  const one = site.tendon.provision(firstDevice, clientId);
  const other = site.tendon.provision(secondDevice, clientId);
  return { site, clock, one, other, refusals: () => refusals };
}

describe("failed sign-ins", () => {
  it("[PRV-8] over WebSocket throttle their address, which still accepts right credentials", async () => {
    const { site, clock, one, other, refusals } = await openGuarded();
    const wrong = () => overWebSocket(site, firstDevice, "wrong");
    const first = await times(limits.failedSignIns.max, wrong);
    expect(new Set(first)).toEqual(new Set([401]));
    expect(new Set(await times(20, wrong))).toEqual(new Set([429]));
    expect(refusals()).toBe(limits.failedSignIns.max);
    expect(await site.metric('tendon_connections_refused_total{code="rate_limited"}')).toBe(20);
    // The attacked device and others behind the same address can still connect, also over MQTT.
    expect(await overWebSocket(site, firstDevice, one.websocket.token)).toBe(101);
    expect(await overWebSocket(site, secondDevice, other.websocket.token)).toBe(101);
    expect(await overMqtt(one.mqtt)).toBe(0);
    clock.advance(1_000);
    expect([await wrong(), await wrong()]).toEqual([401, 429]);
  });

  it("[PRV-8] over MQTT, of devices and apps, are counted together; a right password is accepted", async () => {
    const { site, one, other, refusals } = await openGuarded();
    const app: MqttSettings = {
      endpoint: brokerEndpoint(site),
      client_id: "phone",
      username: "app",
      password: "a-wrong-token",
      publish_topic: "",
      keepalive: 60,
    };
    const half = limits.failedSignIns.max / 2;
    expect(new Set(await times(half, () => overMqtt({ ...one.mqtt, password: "wrong" })))).toEqual(
      new Set([4]),
    );
    expect(new Set(await times(half, () => overMqtt(app)))).toEqual(new Set([4]));
    expect(await overMqtt({ ...one.mqtt, password: "wrong" })).toBe(3);
    expect(await overMqtt(app)).toBe(3);
    expect(refusals()).toBe(limits.failedSignIns.max);
    expect(await overMqtt(one.mqtt)).toBe(0);
    expect(await overMqtt(other.mqtt)).toBe(0);
    expect(await overMqtt({ ...app, password: adminToken })).toBe(0);
  });

  it("[PRV-8] over MQTT are logged with the device, and never with its Client-Id", async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString());
        done();
      },
    });
    const site = await openSite({ logger: pino({ level: "warn" }, stream) });
    const { mqtt } = site.tendon.provision(firstDevice, clientId);
    expect(await overMqtt({ ...mqtt, password: "wrong" })).toBe(4);
    const refused = lines.filter((line) => line.includes("device refused"));
    expect(refused.map((line) => (JSON.parse(line) as { device?: string }).device)).toEqual([firstDevice]);
    expect(lines.join("")).not.toContain(clientId);
  });

  it("[PRV-8] count invalid CONNECT packets too, and do not fill the log", async () => {
    const { site, one, refusals } = await openGuarded();
    const noise = async () => {
      const socket = dial(brokerEndpoint(site));
      socket.on("error", () => undefined);
      socket.end("GET / HTTP/1.1\r\n\r\n");
      await once(socket.resume(), "close");
    };
    await times(limits.failedSignIns.max + 20, noise);
    expect(refusals()).toBe(limits.failedSignIns.max);
    expect(await site.metric('tendon_connections_refused_total{code="rate_limited"}')).toBe(20);
    expect(await overMqtt(one.mqtt)).toBe(0);
  });

  it("[PRV-8] count by the address that a trusted proxy added, and not by what a caller sends", async () => {
    const { site } = await openGuarded({ config: { http: { trustProxy: true } } });
    const wrong = (from: string) => overWebSocket(site, firstDevice, "wrong", from);
    await times(limits.failedSignIns.max, () =>
      wrong(`10.0.0.${Math.floor(Math.random() * 250)}, 198.51.100.7`),
    );
    expect(await wrong("10.9.9.9, 198.51.100.7")).toBe(429);
    expect(await wrong("198.51.100.7, 203.0.113.5")).toBe(401);
    // One IPv6 host has 2^64 addresses.
    await times(limits.failedSignIns.max, () => wrong(`2001:db8:1:2::${Math.floor(Math.random() * 9_999)}`));
    expect(await wrong("2001:db8:1:2:ffff::1")).toBe(429);
    expect(await wrong("2001:db8:1:3::1")).toBe(401);
  });

  it("[PRV-8] ignore X-Forwarded-For without a trusted proxy", async () => {
    const { site } = await openGuarded();
    let index = 0;
    const wrong = () => {
      index += 1;
      return overWebSocket(site, firstDevice, "wrong", `10.0.0.${index}`);
    };
    await times(limits.failedSignIns.max, wrong);
    expect(await wrong()).toBe(429);
    // Boards still get their settings there.
    expect((await new OtaBoard(site.url, { clientId }).ask()).status).toBe(200);
  });
});
