import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Fleet, fleetIdentity } from "../src/index.ts";
import { ManualClock } from "./manual-clock.ts";
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
  it("has consecutive addresses and steady client ids", () => {
    fleet = new Fleet({ count: 1 });
    expect(fleetIdentity(0, "02:00:00:00:00:01").mac).toBe("02:00:00:00:00:01");
    expect(fleetIdentity(255, "02:00:00:00:00:01").mac).toBe("02:00:00:00:01:00");
    expect(fleetIdentity(3, "02:00:00:00:00:01")).toEqual({
      ...fleetIdentity(2, "02:00:00:00:00:02"),
      index: 3,
    });
    expect(() => new Fleet({ count: 0 })).toThrow(/fleet of 0/);
  });

  it("of a thousand connects, at most so many at a time, and rests without timers", async () => {
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
      // Those not welcomed yet are all still waiting for their hello.
      most = Math.max(most, server.connections.waiting + 1);
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
});
