import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { faultsNamed, mqttTransport, VirtualDevice, type VirtualDeviceOptions } from "../src/index.ts";
import { type BrokerConnection, ScriptedBroker } from "./scripted-broker.ts";

let broker: ScriptedBroker;
let clock: ManualClock;
const devices: VirtualDevice[] = [];

beforeEach(async () => {
  broker = await ScriptedBroker.start();
  clock = new ManualClock();
});

afterEach(async () => {
  for (const device of devices.splice(0)) await device.stop();
  await broker.stop();
});

function make(options: VirtualDeviceOptions = {}): VirtualDevice {
  const device = new VirtualDevice({ mqtt: broker.settings, clock, ...options });
  devices.push(device);
  return device;
}

async function connected(device: VirtualDevice): Promise<BrokerConnection> {
  await device.connect();
  return await broker.connections.take();
}

async function verdictOf(returnCode: number | undefined, connectMs = 10_000): Promise<unknown> {
  const strict = await ScriptedBroker.start({ verdict: () => returnCode });
  const device = make({ mqtt: { ...strict.settings, connectMs }, autoReconnect: false });
  const failure: unknown = await device.connect().catch((error: unknown) => error);
  await strict.stop();
  return failure;
}

describe("connecting to a broker", () => {
  it("uses MQTT 3.1.1 with a clean session, no will and keepalive 240, and then sends nothing", async () => {
    const connection = await connected(make());
    expect(connection.connect).toMatchObject({
      protocolId: "MQTT",
      protocolVersion: 4,
      clean: true,
      keepalive: 240,
      clientId: broker.settings.client_id,
      username: "user",
    });
    expect(String(connection.connect.password)).toBe("secret");
    expect(connection.connect.will).toBeUndefined();
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
    expect(connection.subscriptions).toEqual([]);
  });

  it("uses the keepalive of its settings, and sends no empty user name", async () => {
    const { username: _user, password: _password, ...rest } = broker.settings;
    const connection = await connected(make({ mqtt: { ...rest, keepalive: 60 } }));
    expect(connection.connect.keepalive).toBe(60);
    expect(connection.connect.username).toBeUndefined();
    expect(connection.connect.password).toBeUndefined();
  });

  it("subscribes only if configured, and is connected only after that", async () => {
    const connection = await connected(make({ mqtt: { ...broker.settings, subscribe: "devices/p2p/me" } }));
    expect(connection.subscriptions).toEqual(["devices/p2p/me"]);
  });

  it("answers messages on any topic, and only on its own", async () => {
    const connection = await connected(make());
    const ask = { type: "mcp", payload: { jsonrpc: "2.0", id: 7, method: "initialize" } };
    connection.send(ask, "some/where/else");
    expect(await connection.json()).toMatchObject({ session_id: "", type: "mcp", payload: { id: 7 } });
    expect(connection.topics).toEqual(["device-server"]);
  });

  it.each([4, 5])("reports wrong credentials for return code %i", async (returnCode) => {
    expect(await verdictOf(returnCode)).toMatchObject({
      code: "not_authorized",
      message: expect.stringContaining(`return code ${returnCode}`) as string,
    });
  });

  it.each([1, 2, 3])("reports another rejection for return code %i", async (returnCode) => {
    expect(await verdictOf(returnCode)).toMatchObject({
      code: "handshake_refused",
      message: expect.stringContaining(`return code ${returnCode}`) as string,
    });
  });

  it("times out when the broker never answers", async () => {
    expect(await verdictOf(undefined, 20)).toMatchObject({ code: "unreachable" });
  });

  it("distinguishes network failures from a rejection", async () => {
    const gone = await ScriptedBroker.start();
    const { settings } = gone;
    await gone.stop();
    const unreachable = make({ mqtt: settings, autoReconnect: false });
    await expect(unreachable.connect()).rejects.toMatchObject({ code: "unreachable" });
    const rude = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
    const { port } = rude.address() as { port: number };
    const early = make({
      mqtt: { ...broker.settings, endpoint: `127.0.0.1:${port}` },
      autoReconnect: false,
    });
    await expect(early.connect()).rejects.toMatchObject({ code: expect.stringMatching(/early|unreach/) });
    rude.close();
  });

  it.each(["", ":1883", "host:x", "host:0", "host:70000"])("rejects the endpoint %j", (endpoint) => {
    expect(() => mqttTransport({ ...broker.settings, endpoint })).toThrow(/MQTT broker/);
  });
});

describe("after losing the broker, the device", () => {
  it("reconnects after about 10 s with the same client id, without a hello", async () => {
    const device = make();
    const first = await connected(device);
    const lost = device.waitFor("disconnected");
    first.socket.destroy();
    expect(await lost).toMatchObject({ reason: "network" });
    expect(device.connected).toBe(false);
    const delay = clock.requested.at(-1) ?? 0;
    expect(delay).toBeGreaterThanOrEqual(9_000);
    expect(delay).toBeLessThanOrEqual(10_000);
    clock.advance(10_000);
    const second = await broker.connections.take();
    expect(second.connect.clientId).toBe(first.connect.clientId);
    await second.quiet();
    expect(second.texts.waiting).toEqual([]);
    second.mcp({ id: 1, method: "initialize" });
    expect(await second.json()).toMatchObject({ payload: { id: 1 } });
  });

  it("retries after a rejection too", async () => {
    let verdict = 5;
    const strict = await ScriptedBroker.start({ verdict: () => verdict });
    const device = make({ mqtt: strict.settings });
    const failed = device.waitFor("connect-failed");
    const done = device.connect();
    expect(await failed).toMatchObject({ code: "not_authorized" });
    verdict = 0;
    clock.advance(10_000);
    await done;
    expect(strict.everyone).toHaveLength(2);
    await strict.stop();
  });

  it("keeps a reply that is created while it reconnects outside the main loop", async () => {
    const device = make();
    let release: () => void = () => undefined;
    device.addTool("self.slow", "", {}, async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return true;
    });
    const first = await connected(device);
    const called = device.waitFor("call");
    first.mcp({ id: 1, method: "tools/call", params: { name: "self.slow" } });
    await called;
    const lost = device.waitFor("disconnected");
    first.socket.destroy();
    await lost;
    clock.advance(10_000);
    const second = await broker.connections.take();
    await second.quiet();
    release();
    expect(await second.json()).toMatchObject({ payload: { id: 1 } });
  });

  it("sends a DISCONNECT when it leaves, but not when its power is cut", async () => {
    const device = make();
    const first = await connected(device);
    device.disconnect();
    expect(await first.closed).toBe("disconnect");
    const second = await connected(device);
    device.reboot();
    expect(await second.closed).toBe("cut");
    const back = device.waitFor("connected");
    clock.advance(2_000);
    const third = await broker.connections.take();
    await back;
    await device.stop();
    expect(await third.closed).toBe("disconnect");
    expect(clock.pending).toBe(0);
  });

  it("disconnects from a broker that no longer reads", async () => {
    const device = make();
    device.addTool("self.large", "", {}, () => "x".repeat(4 * 1024 * 1024));
    const connection = await connected(device);
    const finished = device.waitFor("call-finished");
    connection.mcp({ id: 1, method: "tools/call", params: { name: "self.large" } });
    await finished;
    connection.socket.pause();
    await device.idle();
    await device.stop();
    connection.socket.resume();
    expect(await connection.closed).toMatch(/cut|disconnect/);
  });

  it("can be stopped while it connects", async () => {
    const silent = await ScriptedBroker.start({ verdict: () => undefined });
    const device = make({ mqtt: silent.settings });
    const connecting = device.waitFor("connecting");
    const outcome = device.connect().catch((error: unknown) => error);
    await connecting;
    await device.stop();
    expect(await outcome).toMatchObject({ code: "stopped" });
    await silent.stop();
  });
});

describe("messages from the broker", () => {
  it.each([
    ["text", "not json"],
    ["nothing", ""],
    ["a list", "[1,2]"],
    ["a number", "42"],
    ["a word", '"hello"'],
    ["an object without a type", '{"payload":{}}'],
    ["a type that is a number", '{"type":1}'],
    ["a payload that is a text", '{"type":"mcp","payload":"x"}'],
    ["an endless list", "[".repeat(100_000)],
    ["bytes", Buffer.from([0, 255, 254, 0, 1])],
  ])("ignores %s", async (_name, payload) => {
    const device = make();
    const connection = await connected(device);
    const ignored = device.waitFor("frame-ignored");
    connection.send(payload);
    await ignored;
    connection.mcp({ id: 2, method: "initialize" });
    expect(await connection.json()).toMatchObject({ payload: { id: 2 } });
  });

  it("crashes on a message larger than its memory", async () => {
    const device = make();
    const connection = await connected(device);
    const reboot = device.waitFor("reboot");
    connection.send(Buffer.alloc(9 * 1024 * 1024, 0x20));
    expect(await reboot).toMatchObject({ cause: expect.stringContaining("memory") as string });
    clock.advance(2_000);
    const next = await broker.connections.take();
    next.mcp({ id: 3, method: "initialize" });
    expect(await next.json()).toMatchObject({ payload: { id: 3 } });
  });

  it("reads a large message within its memory", async () => {
    const connection = await connected(make());
    const filling = "y".repeat(1024 * 1024);
    connection.mcp({ id: 4, method: "initialize", params: { filling } });
    expect(await connection.json()).toMatchObject({ payload: { id: 4 } });
  });

  it("disconnects on bytes that are not MQTT, without crashing", async () => {
    const device = make();
    const connection = await connected(device);
    const lost = device.waitFor("disconnected");
    connection.socket.write("HTTP/1.1 400 Bad Request");
    await lost;
    clock.advance(10_000);
    await broker.connections.take();
  });

  it("loses a message that a modem cannot publish", async () => {
    const device = make({ board: { network: { type: "cellular", carrier: "c", signal: "weak" } } });
    device.addTool("self.large", "", {}, () => "x".repeat(70_000));
    const connection = await connected(device);
    const lost = device.waitFor("frame-lost");
    connection.mcp({ id: 1, method: "tools/call", params: { name: "self.large" } });
    expect(await lost).toMatchObject({ why: "too-large" });
  });
});

describe("faults", () => {
  it("that start with the connection start at the broker", async () => {
    const connection = await connected(make({ faults: faultsNamed(["notifications", "unknown-kinds"]) }));
    for (const type of ["telemetry", "iot", "", "mcp2"])
      expect(await connection.json()).toMatchObject({ type });
    await clock.running();
    clock.advance(1_000);
    expect(await connection.json()).toMatchObject({
      session_id: "",
      payload: { method: "notifications/tick", params: { count: 1 } },
    });
  });

  it("that restart the device break the connection", async () => {
    const device = make({ faults: faultsNamed(["reboot-mid-call"]) });
    const connection = await connected(device);
    connection.mcp({ id: 1, method: "tools/call", params: { name: "self.get_device_status" } });
    await clock.running();
    clock.advance(200);
    expect(await connection.closed).toBe("cut");
    clock.advance(2_000);
    await broker.connections.take();
  });

  it("that ignore MCP work over MQTT too", async () => {
    const connection = await connected(make({ faults: faultsNamed(["no-mcp"]) }));
    connection.mcp({ id: 1, method: "initialize" });
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });
});
