import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { faultList, faultsNamed, VirtualDevice, type VirtualDeviceOptions } from "../src/index.ts";
import { ScriptedServer, type ServerConnection } from "./scripted-server.ts";

let server: ScriptedServer;
let clock: ManualClock;
let device: VirtualDevice;

beforeEach(async () => {
  server = await ScriptedServer.start();
  clock = new ManualClock();
});

afterEach(async () => {
  await device.stop();
  await server.stop();
});

interface Payload {
  readonly id: number;
  readonly method?: string;
  readonly result?: { readonly tools?: readonly { readonly name: string }[]; readonly nextCursor?: string };
  readonly error?: { readonly message: string };
}

async function faulty(
  names: readonly string[],
  options: VirtualDeviceOptions = {},
): Promise<ServerConnection> {
  device = new VirtualDevice({ url: server.url, clock, faults: faultsNamed(names), ...options });
  device.connect().catch(() => undefined);
  return await server.connections.take();
}

async function welcomed(
  names: readonly string[],
  options: VirtualDeviceOptions = {},
): Promise<ServerConnection> {
  const connection = await faulty(names, options);
  await connection.welcome();
  return connection;
}

function callStatus(connection: ServerConnection, id: number): void {
  connection.mcp({ id, method: "tools/call", params: { name: "self.get_device_status" } });
}

async function listAll(
  connection: ServerConnection,
  withUserTools: boolean,
  mostPages: number,
): Promise<Payload[]> {
  const pages: Payload[] = [];
  let cursor: string | undefined = "";
  while (cursor !== undefined && pages.length < mostPages) {
    connection.mcp({ id: pages.length + 1, method: "tools/list", params: { cursor, withUserTools } });
    const page: Payload = await connection.reply<Payload>();
    pages.push(page);
    cursor = page.result?.nextCursor;
  }
  return pages;
}

describe("the fault table", () => {
  it("describes each one for the help text", () => {
    device = new VirtualDevice();
    expect(faultList.map(({ name }) => name)).toEqual([
      "slow",
      "mute",
      "dropped-reply",
      "late-reply",
      "broken-json",
      "cursor-loop",
      "oversize-tool",
      "duplicate-reply",
      "foreign-ids",
      "reboot-mid-call",
      "no-hello",
      "old-firmware",
      "notifications",
      "no-pong",
      "many-pages",
      "unknown-kinds",
      "dark-update",
      "rolled-back-update",
      "no-mcp",
    ]);
    for (const { description } of faultList) expect(description).toMatch(/^.{10,80}$/);
  });

  it("rejects unknown names and invalid values", () => {
    device = new VirtualDevice();
    expect(() => faultsNamed(["sloow"])).toThrow(/unknown fault "sloow"; known faults: slow, mute, /);
    expect(() => faultsNamed(["mute=3"])).toThrow(/does not accept a value/);
    expect(() => faultsNamed(["slow=fast"])).toThrow(/whole number \(milliseconds\), not "fast"/);
    expect(() => faultsNamed(["dropped-reply=0"])).toThrow(/every nth/);
  });
});

describe("each fault", () => {
  it("slow", async () => {
    const connection = await welcomed(["slow"]);
    callStatus(connection, 1);
    await connection.quiet();
    clock.advance(1_999);
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
    clock.advance(1);
    expect(await connection.reply()).toMatchObject({ id: 1 });
  });

  it("mute", async () => {
    const connection = await welcomed(["mute"]);
    connection.mcp({ id: 1, method: "initialize" });
    callStatus(connection, 2);
    await device.waitFor("call-finished");
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });

  it("dropped-reply", async () => {
    const connection = await welcomed(["dropped-reply=2"]);
    for (const id of [1, 2, 3, 4, 5]) callStatus(connection, id);
    const ids = [];
    while (ids.length < 3) ids.push((await connection.reply<Payload>()).id);
    expect(ids).toEqual([1, 3, 5]);
  });

  it("late-reply", async () => {
    const connection = await welcomed(["late-reply=5000"]);
    callStatus(connection, 1);
    await device.waitFor("call-finished");
    connection.mcp({ id: 2, method: "initialize" });
    expect(await connection.reply()).toMatchObject({ id: 2 });
    clock.advance(5_000);
    expect(await connection.reply()).toMatchObject({ id: 1 });
  });

  it("broken-json", async () => {
    const connection = await welcomed(["broken-json"]);
    callStatus(connection, 1);
    const frame = await connection.texts.take();
    expect(frame).toContain('"id":1,');
    expect(() => JSON.parse(frame) as unknown).toThrow();
    connection.mcp({ id: 2, method: "nope" });
    const error = await connection.texts.take();
    expect(() => JSON.parse(error) as unknown).toThrow();
    connection.mcp({ id: 3, method: "initialize" });
    expect(await connection.reply()).toMatchObject({ id: 3 });
  });

  it("cursor-loop", async () => {
    const connection = await welcomed(["cursor-loop"]);
    const pages = await listAll(connection, true, 5);
    expect(pages).toHaveLength(5);
    expect(pages[4]?.result?.tools?.[0]?.name).toBe("self.get_device_status");
  });

  it("oversize-tool", async () => {
    const connection = await welcomed(["oversize-tool"]);
    const pages = await listAll(connection, true, 5);
    expect(pages).toHaveLength(2);
    expect(pages[1]?.error?.message).toBe(
      "Failed to add tool self.oversize.tool because of payload size limit",
    );
  });

  it("duplicate-reply", async () => {
    const connection = await welcomed(["duplicate-reply"]);
    connection.mcp({ id: 1, method: "initialize" });
    expect(await connection.texts.take()).toBe(await connection.texts.take());
  });

  it("foreign-ids", async () => {
    const connection = await welcomed(["foreign-ids"]);
    connection.mcp({ id: 7, method: "initialize" });
    expect((await connection.reply<Payload>()).id).toBe(7 - 2 ** 30);
    expect((await connection.reply<Payload>()).id).toBe(7);
  });

  it("reboot-mid-call", async () => {
    const connection = await welcomed(["reboot-mid-call"], { timing: { bootMs: 10 } });
    callStatus(connection, 1);
    await connection.quiet();
    clock.advance(200);
    expect(await connection.closed).toBe(1006);
    expect(connection.texts.waiting).toEqual([]);
    clock.advance(10);
    await (await server.connections.take()).welcome();
  });

  it("no-hello", async () => {
    const connection = await faulty(["no-hello"]);
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });

  it("old-firmware", async () => {
    const delays = [0.9, 0.1];
    const connection = await faulty(["old-firmware"], { random: () => delays.shift() ?? 0.5 });
    const hello = await connection.welcome();
    expect(hello).toMatchObject({ features: { mcp: true } });
    expect(hello["features"]).not.toHaveProperty("glyph_push");
    connection.mcp({ id: 1, method: "initialize" });
    expect(await connection.reply()).toMatchObject({ result: { serverInfo: { version: "1.9.1" } } });
    const pages = await listAll(connection, true, 5);
    expect(pages.flatMap((page) => page.result?.tools ?? []).map(({ name }) => name)).not.toContain(
      "self.reboot",
    );
    callStatus(connection, 11);
    callStatus(connection, 12);
    await connection.quiet();
    clock.advance(10);
    clock.advance(40);
    expect((await connection.reply<Payload>()).id).toBe(12);
    expect((await connection.reply<Payload>()).id).toBe(11);
  });

  it("notifications", async () => {
    const connection = await welcomed(["notifications"]);
    clock.advance(1_000);
    expect(await connection.reply()).toMatchObject({ method: "notifications/tick", params: { count: 1 } });
    clock.advance(1_000);
    expect(await connection.reply()).toMatchObject({ params: { count: 2 } });
    device.disconnect();
    expect(clock.pending).toBe(0);
  });

  it("no-pong", async () => {
    const connection = await welcomed(["no-pong"]);
    connection.socket.ping("anyone?");
    connection.mcp({ id: 1, method: "initialize" });
    await connection.reply();
    expect(connection.pongs.waiting).toEqual([]);
  });

  it("many-pages", async () => {
    const connection = await welcomed(["many-pages"]);
    expect(await listAll(connection, false, 300)).toHaveLength(200);
  });

  it("unknown-kinds", async () => {
    const connection = await welcomed(["unknown-kinds"]);
    const types = [];
    while (types.length < 4) types.push((JSON.parse(await connection.texts.take()) as { type: string }).type);
    expect(types).toEqual(["telemetry", "iot", "", "mcp2"]);
    connection.mcp({ id: 1, method: "initialize" });
    expect(await connection.reply()).toMatchObject({ id: 1 });
  });

  it("no-mcp", async () => {
    const connection = await faulty(["no-mcp"]);
    expect(await connection.welcome()).toMatchObject({ features: { glyph_push: true } });
    connection.mcp({ id: 1, method: "initialize" });
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });

  it("several faults, applied one after the other", async () => {
    const connection = await welcomed(["duplicate-reply", "late-reply=100", "foreign-ids"]);
    callStatus(connection, 5);
    expect((await connection.reply<Payload>()).id).toBe(5 - 2 ** 30);
    clock.advance(100);
    expect((await connection.reply<Payload>()).id).toBe(5);
    expect((await connection.reply<Payload>()).id).toBe(5);
  });
});
