import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { Fleet, fleetIdentity } from "../src/index.ts";
import { ScriptedBroker } from "./scripted-broker.ts";
import { ScriptedOta } from "./scripted-ota.ts";
import { ScriptedServer, type ServerConnection } from "./scripted-server.ts";

let server: ScriptedServer;
let fleet: Fleet;

beforeEach(async () => {
  server = await ScriptedServer.start();
});

afterEach(async () => {
  await fleet.stop();
  await server.stop();
});

async function welcome(count: number): Promise<ServerConnection[]> {
  const connections: ServerConnection[] = [];
  while (connections.length < count) {
    const connection = await server.connections.take();
    await connection.welcome();
    connections.push(connection);
  }
  return connections;
}

describe("a fleet", () => {
  it("has consecutive addresses and stable client ids", () => {
    fleet = new Fleet({ count: 1 });
    expect(fleetIdentity(0, "02:00:00:00:00:01").mac).toBe("02:00:00:00:00:01");
    expect(fleetIdentity(255, "02:00:00:00:00:01").mac).toBe("02:00:00:00:01:00");
    expect(fleetIdentity(3, "02:00:00:00:00:01")).toEqual({
      ...fleetIdentity(2, "02:00:00:00:00:02"),
      index: 3,
    });
    expect(() => new Fleet({ count: 0 })).toThrow(/fleet cannot have 0 devices/);
  });

  it("of a thousand connects, a limited number at a time, and is idle without timers", async () => {
    const clock = new ManualClock();
    fleet = new Fleet({
      count: 1_000,
      connectConcurrency: 20,
      device: { url: server.url, clock },
      each: ({ index }) => ({ token: `t${index}` }),
    });
    const started = fleet.start();
    const connections: ServerConnection[] = [];
    let most = 0;
    while (connections.length < 1_000) {
      const connection = await server.connections.take();
      // All devices without a server hello are still waiting for it.
      most = Math.max(most, server.connections.waiting.length + 1);
      await connection.welcome();
      connections.push(connection);
    }
    await started;
    expect(most).toBeLessThanOrEqual(20);
    expect(fleet.counters).toEqual({
      devices: 1_000,
      connected: 1_000,
      calls: 0,
      errors: 0,
      connectFailures: 0,
      reconnects: 0,
      reboots: 0,
      lostFrames: 0,
    });
    expect(clock.pending).toBe(0);
    expect(new Set(connections.map(({ request }) => request.headers["device-id"])).size).toBe(1_000);
    expect(new Set(connections.map(({ request }) => request.headers.authorization)).size).toBe(1_000);
  });

  it("counts calls, errors, reconnects and reboots", async () => {
    fleet = new Fleet({
      count: 2,
      device: { url: server.url, backoff: { minimumMs: 1 }, timing: { bootMs: 1 } },
    });
    const started = fleet.start();
    const [one, two] = await welcome(2);
    await started;
    one?.mcp({ id: 1, method: "tools/call", params: { name: "self.get_device_status" } });
    await one?.reply();
    one?.mcp({
      id: 2,
      method: "tools/call",
      params: { name: "self.camera.take_photo", arguments: { question: "?" } },
    });
    await one?.reply();
    one?.socket.terminate();
    await welcome(1);
    fleet.devices.find(({ id }) => id === two?.request.headers["device-id"])?.reboot();
    await two?.closed;
    await welcome(1);
    expect(fleet.counters).toMatchObject({ connected: 2, calls: 2, errors: 1, reconnects: 2, reboots: 1 });
  });

  it("can be stopped while it is still connecting", async () => {
    fleet = new Fleet({ count: 100, connectConcurrency: 3, device: { url: server.url } });
    const started = fleet.start();
    const first = await server.connections.take();
    await fleet.stop();
    await started;
    expect(fleet.counters.connected).toBe(0);
    expect(await first.closed).toBe(1006);
  });

  it("of a thousand connects to a broker, each with its own client id, and answers there", async () => {
    const clock = new ManualClock();
    const broker = await ScriptedBroker.start();
    fleet = new Fleet({
      count: 1_000,
      device: { clock },
      each: ({ mac }) => ({ mqtt: { ...broker.settings, client_id: `g@@@${mac}`, username: mac } }),
    });
    await fleet.start();
    expect(fleet.counters).toMatchObject({ devices: 1_000, connected: 1_000, connectFailures: 0 });
    expect(clock.pending).toBe(0);
    expect(new Set(broker.everyone.map(({ connect }) => connect.clientId)).size).toBe(1_000);
    for (const connection of broker.everyone) connection.mcp({ id: 1, method: "initialize" });
    for (const connection of broker.everyone) expect(await connection.json()).toMatchObject({ type: "mcp" });
    await fleet.stop();
    const ends = await Promise.all(broker.everyone.map(async ({ closed }) => await closed));
    expect(new Set(ends)).toEqual(new Set(["disconnect"]));
    await broker.stop();
  });

  it("gets its settings from the OTA address, a limited number of devices at a time", async () => {
    const broker = await ScriptedBroker.start();
    const ota = await ScriptedOta.start();
    fleet = new Fleet({ count: 30, connectConcurrency: 4, device: { otaUrl: ota.url } });
    const started = fleet.start();
    let most = 0;
    for (let index = 0; index < 30; index += 1) {
      const request = await ota.requests.take();
      most = Math.max(most, ota.requests.waiting.length + 1);
      const client = `g@@@${String(request.headers["device-id"])}`;
      request.answer(200, { mqtt: { ...broker.settings, client_id: client } });
    }
    await started;
    expect(most).toBeLessThanOrEqual(4);
    expect(fleet.counters).toMatchObject({ connected: 30, connectFailures: 0 });
    expect(new Set(broker.everyone.map(({ connect }) => connect.clientId)).size).toBe(30);
    await fleet.stop();
    await ota.stop();
    await broker.stop();
  });
});
