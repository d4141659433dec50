import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { VirtualDevice, type VirtualDeviceOptions } from "../src/index.ts";
import { useHelloServer } from "./hello-server.ts";

const site = useHelloServer();
const make = (options: VirtualDeviceOptions = {}) => site.make(options);
const welcomed = (device: VirtualDevice) => site.welcomed(device);

describe("the handshake", () => {
  const board = { mac: "02:00:00:00:00:07", clientId: "11111111-2222-4333-8444-555555555555" };

  it("has the firmware's headers, and a Host without a port", async () => {
    const connection = await welcomed(make({ board, token: "secret" }));
    const { headers } = connection.request;
    expect(headers.authorization).toBe("Bearer secret");
    expect(headers["protocol-version"]).toBe("1");
    expect(headers["device-id"]).toBe(board.mac);
    expect(headers["client-id"]).toBe(board.clientId);
    expect(headers.host).toBe("127.0.0.1");
    expect(headers["sec-websocket-extensions"]).toBeUndefined();
    expect(headers.origin).toBeUndefined();
  });

  it("sends a token with a space unchanged, and no header without a token", async () => {
    const whole = await welcomed(make({ token: "Token abc" }));
    expect(whole.request.headers.authorization).toBe("Token abc");
    const none = await welcomed(make());
    expect(none.request.headers.authorization).toBeUndefined();
  });

  it("announces echo cancellation, and omits the font if glyphs cannot be pushed", async () => {
    const device = make({ board: { aec: true, glyphPush: false } });
    void device.connect();
    const connection = await site.current.connections.take();
    expect(await connection.texts.take()).toContain(
      '"features":{"aec":true,"mcp":true,"glyph_push":false},"transport"',
    );
    connection.hello();
    expect(await connection.texts.take()).toContain('"mode":"realtime"');
  });

  it("requests the address with its fragment", async () => {
    const path = "a/../b?x=1#part";
    const connection = await welcomed(make({ url: `${site.current.url}${path}` }));
    expect(connection.request.url).toBe(`/xiaozhi/v1/${path}`);
  });

  it("rejects with a code when the server is unreachable", async () => {
    const { url } = site.current;
    await site.current.stop();
    await expect(make({ url, autoReconnect: false }).connect()).rejects.toMatchObject({
      code: "unreachable",
    });
  });

  it("rejects with a code when the server rejects the connection", async () => {
    const web = createServer((_request, response) => response.writeHead(401).end());
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const url = `ws://127.0.0.1:${(web.address() as AddressInfo).port}/`;
    await expect(make({ url, autoReconnect: false }).connect()).rejects.toMatchObject({
      code: "handshake_refused",
      message: expect.stringContaining("401") as string,
    });
    await new Promise((resolve) => web.close(resolve));
  });

  it("rejects addresses that are not for WebSockets, and devices without an address", async () => {
    expect(() => make({ url: "http://127.0.0.1/" })).toThrow(/not a ws:/);
    const device = new VirtualDevice();
    await expect(device.connect()).rejects.toMatchObject({ code: "no_transport" });
  });
});

describe("connecting and disconnecting", () => {
  it("disconnects without a Close frame and stays offline until connect()", async () => {
    const device = make();
    const connection = await welcomed(device);
    expect(device.connected).toBe(true);
    device.disconnect();
    expect(await connection.closed).toBe(1006);
    expect(device.connected).toBe(false);
    expect(site.current.seen).toBe(1);
    await welcomed(device);
    expect(site.current.seen).toBe(2);
  });

  it("neither answers a Close frame nor ends TCP after one", async () => {
    const device = make({ autoReconnect: false });
    const connection = await welcomed(device);
    const gone = device.waitFor("disconnected");
    connection.socket.close(1001, "bye");
    expect(await gone).toMatchObject({ reason: "server-close", code: 1001 });
    let closed = false;
    void connection.closed.then(() => {
      closed = true;
    });
    const other = await welcomed(make());
    await other.quiet();
    expect(closed).toBe(false);
    await device.stop();
    expect(await connection.closed).toBe(1006);
  });

  it("reconnects automatically after a drop, with growing delays", async () => {
    const clock = new ManualClock();
    const device = make({ clock, random: () => 1, backoff: { minimumMs: 1_000, maximumMs: 4_000 } });
    let attemptOver: () => void = () => undefined;
    device.on("disconnected", () => attemptOver());
    device.on("connect-failed", () => attemptOver());
    let connection = await welcomed(device);
    const delays: (number | undefined)[] = [];
    for (let failures = 0; failures < 4; failures += 1) {
      const over = new Promise<void>((resolve) => {
        attemptOver = resolve;
      });
      connection.socket.terminate();
      await over;
      const delay = clock.requested.at(-1) ?? 0;
      delays.push(delay);
      clock.advance(delay - 1);
      await device.idle();
      expect(device.phase).toBe("idle");
      clock.advance(1);
      connection = await site.current.connections.take();
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 4_000]);
    await connection.welcome();
    expect(device.connected).toBe(true);
    const over = new Promise<void>((resolve) => {
      attemptOver = resolve;
    });
    connection.socket.terminate();
    await over;
    expect(clock.requested.at(-1)).toBe(1_000);
  });

  it("times out without a hello, keeps the socket, and connects again on request", async () => {
    const clock = new ManualClock();
    const device = make({ clock });
    const connected = device.connect();
    const first = await site.current.connections.take();
    await first.texts.take();
    first.mcp({ id: 4, method: "initialize" });
    await first.quiet();
    expect(first.texts.waiting).toEqual([]);
    clock.advance(10_000);
    await expect(connected).rejects.toMatchObject({ code: "hello_timeout" });
    expect(await first.reply()).toMatchObject({ id: 4 });
    await welcomed(device);
    expect(await first.closed).toBe(1006);
  });

  it("opens a new socket on the wake word after two silent minutes", async () => {
    const clock = new ManualClock();
    const device = make({ clock });
    await welcomed(device);
    await device.connect();
    expect(site.current.seen).toBe(1);
    clock.advance(120_001);
    await welcomed(device);
    expect(site.current.seen).toBe(2);
  });

  it("loses its memory in a reboot, and never sends the pending replies", async () => {
    const device = make({ timing: { rebootDelayMs: 0, bootMs: 1 } });
    const connection = await welcomed(device);
    connection.mcp({
      id: 1,
      method: "initialize",
      params: { capabilities: { vision: { url: "http://v.test/" } } },
    });
    await connection.reply();
    connection.mcp({
      id: 2,
      method: "tools/call",
      params: { name: "self.audio_speaker.set_volume", arguments: { volume: 5 } },
    });
    await connection.reply();
    connection.mcp({ id: 3, method: "tools/call", params: { name: "self.reboot" } });
    expect(await connection.closed).toBe(1006);
    expect(connection.texts.waiting).toEqual([]);
    const again = await site.current.connections.take();
    await again.welcome("s2");
    again.mcp({
      id: 4,
      method: "tools/call",
      params: { name: "self.camera.take_photo", arguments: { question: "?" } },
    });
    expect(await again.reply()).toMatchObject({
      error: { message: "Image explain URL or token is not set" },
    });
    expect(device.state.get("volume")).toBe(5);
  });

  it("waits a second before a reboot, then stays offline if configured", async () => {
    const clock = new ManualClock();
    const device = make({ clock, returnAfterReboot: false });
    const connection = await welcomed(device);
    connection.send({ type: "system", command: "reboot" });
    await device.waitFor("message", ({ type }) => type === "system");
    await connection.quiet();
    expect(device.connected).toBe(true);
    const gone = device.waitFor("disconnected");
    clock.advance(1_000);
    expect(await gone).toMatchObject({ reason: "reboot" });
    expect(clock.pending).toBe(0);
  });

  it("crashes and recovers when the server's hello has no transport", async () => {
    const device = make({ timing: { bootMs: 1 } });
    const connected = device.connect();
    const connection = await site.current.connections.take();
    await connection.texts.take();
    connection.send({ type: "hello", session_id: "s" });
    expect(await connection.closed).toBe(1006);
    await (await site.current.connections.take()).welcome();
    await connected;
    expect(device.sessionId).toBe("s");
  });

  it("leaves no timers and sockets when stopped", async () => {
    const clock = new ManualClock();
    const device = make({ clock });
    const connection = await welcomed(device);
    device.addTool("self.never", "", {}, async () => await new Promise<true>(() => undefined));
    connection.mcp({ id: 1, method: "tools/call", params: { name: "self.never" } });
    await device.waitFor("call");
    const waiting = device.waitFor("reboot");
    waiting.catch(() => undefined);
    await device.stop();
    await expect(waiting).rejects.toMatchObject({ code: "wait_expired" });
    await expect(device.connect()).rejects.toMatchObject({ code: "stopped" });
    expect(await connection.closed).toBe(1006);
    expect(clock.pending).toBe(0);
  });
});

describe("the backlight", () => {
  it("fades by one step per 5 ms, and a status reports the current level", async () => {
    const clock = new ManualClock();
    const device = make({ clock });
    const changes: unknown[] = [];
    device.on("state", ({ key, value }) => changes.push([key, value]));
    const connection = await welcomed(device);
    const call = async (name: string, args: object): Promise<string> => {
      connection.mcp({ id: 1, method: "tools/call", params: { name, arguments: args } });
      const { result } = await connection.reply<{ result: { content: { text: string }[] } }>();
      return result.content[0]?.text ?? "";
    };
    const set = async (brightness: number): Promise<void> => {
      expect(await call("self.screen.set_brightness", { brightness })).toBe("true");
    };
    const level = async (afterMs: number): Promise<unknown> => {
      clock.advance(afterMs);
      const status = JSON.parse(await call("self.get_device_status", {})) as { screen: object };
      return Reflect.get(status.screen, "brightness");
    };
    await set(40);
    expect([await level(0), await level(4), await level(1), await level(54)]).toEqual([75, 75, 74, 64]);
    expect(device.state.get("brightness")).toBe(40);
    // Reversed during the fade: the timer keeps its ticks, so the next step comes after 1 ms.
    await set(66);
    expect([await level(0), await level(1), await level(5), await level(1_000)]).toEqual([64, 65, 66, 66]);
    await set(60);
    expect(await level(10)).toBe(64);
    // The firmware compares with the current level, and lets the fade continue.
    await set(64);
    expect(await level(1_000)).toBe(60);
    device.state.set("brightness", 12);
    expect(await level(0)).toBe(12);
    expect(changes).toEqual([40, 66, 60, 12].map((value) => ["brightness", value]));
  });
});

describe("the main loop", () => {
  it("lets errors and lists overtake earlier calls", async () => {
    const device = make();
    const order: number[] = [];
    device.on("reply", ({ id }) => order.push(id));
    const say = (id: number, method: string, params?: object): void =>
      device.receiveMcp(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    say(1, "tools/call", { name: "self.get_device_status" });
    say(2, "tools/call", { name: "self.get_device_status" });
    say(3, "ping");
    say(4, "tools/call", { name: "nope" });
    await device.idle();
    expect(order).toEqual([3, 4, 1, 2]);
  });

  it("answers nothing while a slow tool runs, except pings", async () => {
    const device = make();
    let finish: (value: string) => void = () => undefined;
    device.addTool(
      "self.wait",
      "",
      {},
      async () =>
        await new Promise<string>((resolve) => {
          finish = resolve;
        }),
    );
    const connection = await welcomed(device);
    connection.mcp({ id: 1, method: "tools/call", params: { name: "self.wait" } });
    await device.waitFor("call");
    connection.mcp({ id: 2, method: "initialize" });
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
    finish("done");
    expect(await connection.reply()).toMatchObject({ id: 2 });
    expect(await connection.reply()).toMatchObject({ id: 1, result: { content: [{ text: "done" }] } });
  });

  it("finishes a call and loses the reply when the server has disconnected", async () => {
    const device = make({ autoReconnect: false });
    let finish: () => void = () => undefined;
    device.addTool(
      "self.wait",
      "",
      {},
      async () =>
        await new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const connection = await welcomed(device);
    connection.mcp({ id: 1, method: "tools/call", params: { name: "self.wait" } });
    await device.waitFor("call");
    connection.socket.terminate();
    await device.waitFor("disconnected");
    const lost = device.waitFor("frame-lost");
    const reply = device.waitFor("reply");
    finish();
    expect(await lost).toMatchObject({ why: "closed" });
    expect(await reply).toMatchObject({ id: 1, delivered: false });
  });
});
