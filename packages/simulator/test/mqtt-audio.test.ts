import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { faultsNamed, VirtualDevice, type VirtualDeviceOptions } from "../src/index.ts";
import { type BrokerConnection, ScriptedBroker, udpSettings } from "./scripted-broker.ts";
import { crypt, downlink, ScriptedUdp } from "./scripted-udp.ts";

let broker: ScriptedBroker;
let udp: ScriptedUdp;
let clock: ManualClock;
let device: VirtualDevice;

beforeEach(async () => {
  broker = await ScriptedBroker.start();
  udp = await ScriptedUdp.start();
  clock = new ManualClock();
});

afterEach(async () => {
  await device.stop();
  udp.stop();
  await broker.stop();
});

async function connected(options: VirtualDeviceOptions = {}): Promise<BrokerConnection> {
  device = new VirtualDevice({ mqtt: broker.settings, clock, timing: { rebootDelayMs: 0 }, ...options });
  await device.connect();
  return await broker.connections.take();
}

async function talking(options: VirtualDeviceOptions = {}, sessionId = "s"): Promise<BrokerConnection> {
  const connection = await connected(options);
  await welcome(connection, sessionId);
  return connection;
}

async function welcome(connection: BrokerConnection, sessionId: string): Promise<void> {
  const opened = device.openAudio();
  expect(await connection.json()).toMatchObject({ type: "hello", version: 3, transport: "udp" });
  connection.hello(udp.port, sessionId);
  await opened;
  expect(await connection.json()).toMatchObject({ session_id: sessionId, type: "listen", state: "start" });
}

async function sessionSeen(connection: BrokerConnection): Promise<unknown> {
  connection.mcp({ id: 1, method: "initialize" });
  return (await connection.json())["session_id"];
}

describe("a session", () => {
  it("opens on the wake word, sends it first, and is reported", async () => {
    const connection = await connected();
    expect(device.audioOpen).toBe(false);
    const event = device.waitFor("audio-opened");
    const woken = device.wake("hello there");
    await connection.json();
    expect(device.phase).toBe("connecting");
    connection.hello(udp.port, "abc");
    await woken;
    expect(await event).toMatchObject({ sessionId: "abc" });
    expect(await connection.json()).toMatchObject({
      session_id: "abc",
      state: "detect",
      text: "hello there",
    });
    expect(await connection.json()).toMatchObject({ session_id: "abc", state: "start", mode: "auto" });
    expect(device.phase).toBe("listening");
    expect(device.audioOpen).toBe(true);
  });

  it("is interrupted by the wake word while the device speaks", async () => {
    const connection = await talking();
    const speaking = device.waitFor("phase", ({ phase }) => phase === "speaking");
    connection.send({ type: "tts", state: "start" });
    await speaking;
    await device.wake();
    expect(await connection.json()).toMatchObject({ type: "abort", reason: "wake_word_detected" });
  });

  it("gives its id to replies until the next hello", async () => {
    const connection = await connected();
    expect(await sessionSeen(connection)).toBe("");
    await welcome(connection, "one");
    expect(await sessionSeen(connection)).toBe("one");
    const closed = device.waitFor("audio-closed");
    await device.closeAudio();
    expect(await closed).toMatchObject({ by: "device" });
    expect(await connection.json()).toEqual({ session_id: "one", type: "goodbye" });
    expect(device.connected).toBe(true);
    expect(await sessionSeen(connection)).toBe("one");
    const failed = device.openAudio().catch((error: unknown) => error);
    await connection.json();
    connection.mcp({ id: 1, method: "initialize" });
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
    clock.advance(10_000);
    expect(await failed).toMatchObject({ code: "hello_timeout" });
    expect((await connection.json())["session_id"]).toBe("");
    expect(device.phase).toBe("idle");
  });

  it("ends with the server's goodbye for its id only, and the device does not answer", async () => {
    const connection = await talking();
    connection.send({ type: "goodbye" });
    connection.send({ type: "goodbye", session_id: "other" });
    connection.send({ type: "goodbye", session_id: 5 });
    await connection.quiet();
    expect(device.audioOpen).toBe(true);
    const closed = device.waitFor("audio-closed");
    connection.send({ type: "goodbye", session_id: "s" });
    expect(await closed).toMatchObject({ by: "server" });
    expect(device.phase).toBe("idle");
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });

  it("is opened again, without a goodbye, after two minutes of silence", async () => {
    const connection = await talking();
    clock.advance(120_000);
    expect(device.audioOpen).toBe(true);
    clock.advance(1);
    expect(device.audioOpen).toBe(false);
    await welcome(connection, "two");
    expect(device.sessionId).toBe("two");
  });

  it("survives a reconnection to the broker", async () => {
    const connection = await talking();
    const lost = device.waitFor("disconnected");
    connection.socket.destroy();
    await lost;
    expect(device.phase).toBe("listening");
    device.sendAudio(Buffer.from("still here"));
    expect((await udp.datagrams.take()).length).toBe(26);
    clock.advance(10_000);
    const next = await broker.connections.take();
    expect(await sessionSeen(next)).toBe("s");
  });

  it("is opened again after a failed publish", async () => {
    const connection = await talking();
    const lost = device.waitFor("disconnected");
    connection.socket.destroy();
    await lost;
    device.startListening();
    await device.waitFor("frame-lost");
    expect(device.phase).toBe("idle");
    expect(device.audioOpen).toBe(false);
  });

  it("connects at once when opened without a broker, and fails at once if the broker is unreachable", async () => {
    const connection = await connected();
    const lost = device.waitFor("disconnected");
    connection.socket.destroy();
    await lost;
    const opened = device.openAudio();
    const next = await broker.connections.take();
    await next.json();
    next.hello(udp.port);
    await opened;
    await device.closeAudio();
    const lostAgain = device.waitFor("disconnected");
    await broker.stop();
    await lostAgain;
    await expect(device.openAudio()).rejects.toMatchObject({ code: "unreachable" });
    expect(device.phase).toBe("idle");
    broker = await ScriptedBroker.start();
  });

  it("ends with a goodbye before a restart, and is not kept", async () => {
    const connection = await talking();
    connection.send({ type: "system", command: "reboot" });
    expect(await connection.json()).toEqual({ session_id: "s", type: "goodbye" });
    expect(await connection.closed).toBe("disconnect");
    clock.advance(2_000);
    const next = await broker.connections.take();
    expect(await sessionSeen(next)).toBe("");
  });

  it("is rejected when requested before a power cut or after stop()", async () => {
    const connection = await connected();
    const opened = device.openAudio().catch((error: unknown) => error);
    await connection.json();
    device.reboot();
    expect(await opened).toMatchObject({ code: "crashed" });
    await device.stop();
    await expect(device.openAudio()).rejects.toMatchObject({ code: "stopped" });
  });

  it("is never opened by a device with the fault no-hello", async () => {
    const connection = await connected({ faults: faultsNamed(["no-hello"]) });
    await expect(device.openAudio()).rejects.toMatchObject({ code: "hello_timeout" });
    expect(await sessionSeen(connection)).toBe("");
  });
});

describe("a server hello that the device ignores", () => {
  const udpOf = (change: Readonly<Record<string, unknown>>) => ({
    type: "hello",
    transport: "udp",
    udp: { server: "127.0.0.1", port: 9, ...udpSettings, ...change },
  });

  it.each([
    ["no transport", { type: "hello", udp: udpOf({}).udp }],
    ["another transport", { ...udpOf({}), transport: "websocket" }],
    ["udp that is a list", { type: "hello", transport: "udp", udp: [] }],
    ["no server", udpOf({ server: undefined })],
    ["a server that is a number", udpOf({ server: 5 })],
    ["a port that is a text", udpOf({ port: "9" })],
    ["port 0", udpOf({ port: 0 })],
    ["port 65536", udpOf({ port: 65_536 })],
    ["a short key", udpOf({ key: "0011" })],
    ["a key that is not hex", udpOf({ key: "zz".repeat(16) })],
    ["a long nonce", udpOf({ nonce: "01".repeat(17) })],
    ["no nonce", udpOf({ nonce: null })],
  ])("%s", async (_name, hello) => {
    const connection = await connected();
    const failed = device.openAudio().catch((error: unknown) => error);
    await connection.json();
    connection.send(hello);
    await connection.quiet();
    expect(device.audioOpen).toBe(false);
    clock.advance(10_000);
    expect(await failed).toMatchObject({ code: "hello_timeout" });
  });
});

describe("audio packets", () => {
  it("are sent encrypted with a header from the nonce, numbered from 1", async () => {
    await talking();
    for (const [index, text] of ["first", "second packet"].entries()) {
      device.sendAudio(Buffer.from(text), 0x01020304 + index);
      const datagram = await udp.datagrams.take();
      const header = datagram.subarray(0, 16);
      expect(header.readUInt8(0)).toBe(1);
      expect(header.readUInt16BE(2)).toBe(text.length);
      expect(header.readUInt32BE(4)).toBe(0);
      expect(header.readUInt32BE(8)).toBe(0x01020304 + index);
      expect(header.readUInt32BE(12)).toBe(index + 1);
      expect(crypt(header, datagram.subarray(16)).toString()).toBe(text);
    }
  });

  it("keep the type and the source of the server's nonce", async () => {
    const connection = await connected();
    const opened = device.openAudio();
    await connection.json();
    const nonce = "07aa0000deadbeef0000000000000000";
    const offer = { server: "127.0.0.1", port: udp.port, ...udpSettings, nonce };
    connection.send({ type: "hello", transport: "udp", udp: offer });
    await opened;
    device.sendAudio(Buffer.from("x"));
    const header = (await udp.datagrams.take()).subarray(0, 16);
    expect(header.toString("hex")).toBe("07aa0001deadbeef0000000000000001");
  });

  it("are accepted only with the right type, exact length and a new number", async () => {
    const connection = await talking();
    const heard: number[] = [];
    const ignored: string[] = [];
    device.on("audio", ({ direction, bytes }) => {
      if (direction === "in") heard.push(bytes);
    });
    device.on("frame-ignored", ({ why }) => ignored.push(why));
    device.sendAudio(Buffer.from("here I am"));
    await udp.datagrams.take();
    udp.send(Buffer.alloc(3));
    udp.send(downlink(1, Buffer.alloc(10), 2));
    udp.send(downlink(1, Buffer.alloc(10), 1, 11));
    udp.send(downlink(0, Buffer.alloc(10)));
    udp.send(downlink(1, Buffer.alloc(20)));
    udp.send(downlink(1, Buffer.alloc(30)));
    udp.send(downlink(1, Buffer.alloc(1_600)));
    const last = device.waitFor("audio", ({ bytes }) => bytes === 40);
    udp.send(downlink(9, Buffer.alloc(40)));
    expect(await last).toMatchObject({ direction: "in", played: false });
    expect(heard).toEqual([20, 40]);
    expect(ignored).toHaveLength(6);
    const speaking = device.waitFor("phase", ({ phase }) => phase === "speaking");
    connection.send({ type: "tts", state: "start" });
    await speaking;
    const played = device.waitFor("audio");
    udp.send(downlink(10, Buffer.alloc(5)));
    expect(await played).toMatchObject({ played: true });
  });

  it("start again at 1 with the key of a new hello", async () => {
    const connection = await talking();
    device.sendAudio(Buffer.from("a"));
    device.sendAudio(Buffer.from("b"));
    await udp.datagrams.take();
    await udp.datagrams.take();
    connection.hello(udp.port, "next");
    await connection.quiet();
    device.sendAudio(Buffer.from("c"));
    expect((await udp.datagrams.take()).readUInt32BE(12)).toBe(1);
    expect(device.sessionId).toBe("next");
  });

  it("are lost without a session, and when they are too large for a datagram", async () => {
    await connected();
    const lost = device.waitFor("frame-lost");
    device.sendAudio(Buffer.from("nobody"));
    expect(await lost).toMatchObject({ why: "closed", bytes: 6 });
    await device.stop();
    await talking();
    const tooLarge = device.waitFor("frame-lost");
    device.sendAudio(Buffer.alloc(65_500));
    expect(await tooLarge).toMatchObject({ why: "too-large" });
  });

  it("are lost when the server's name does not resolve, while the session stays open", async () => {
    const connection = await connected();
    const opened = device.openAudio();
    await connection.json();
    const offer = { server: "::1::", port: 9, ...udpSettings };
    connection.send({ type: "hello", transport: "udp", udp: offer });
    await opened;
    const lost = device.waitFor("frame-lost");
    device.sendAudio(Buffer.from("x"));
    expect(await lost).toMatchObject({ why: "closed" });
  });
});
