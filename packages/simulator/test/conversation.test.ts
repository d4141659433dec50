import { describe, expect, it } from "vitest";
import { type VirtualDevice, type VirtualDeviceOptions, webSocketTransport } from "../src/index.ts";
import { useHelloServer } from "./hello-server.ts";

const site = useHelloServer();
const make = (options: VirtualDeviceOptions = {}) => site.make(options);
const welcomed = (device: VirtualDevice) => site.welcomed(device);

describe("conversation", () => {
  it("plays speech, and listens again afterwards", async () => {
    const device = make();
    const connection = await welcomed(device);
    expect(device.phase).toBe("listening");
    connection.send({ type: "tts", state: "start" });
    connection.send({ type: "tts", state: "stop" });
    expect(await connection.texts.take()).toBe(
      '{"session_id":"s","type":"listen","state":"start","mode":"auto"}',
    );
    device.startListening("manual");
    expect(await connection.texts.take()).toContain('"mode":"manual"');
    const idle = device.waitFor("phase", ({ phase }) => phase === "idle");
    connection.send({ type: "tts", state: "start" });
    connection.send({ type: "tts", state: "stop" });
    expect(await idle).toMatchObject({ previous: "speaking" });
    expect(connection.texts.waiting).toEqual([]);
  });

  it("does not start to speak before it is connected", async () => {
    const device = make();
    const connected = device.connect();
    const connection = await site.current.connections.take();
    connection.send({ type: "tts", state: "start" });
    await device.waitFor("message");
    expect(device.phase).toBe("connecting");
    await connection.welcome();
    await connected;
    expect(device.phase).toBe("listening");
  });

  it("sends the messages of a person's actions", async () => {
    const device = make();
    const connection = await welcomed(device);
    device.wakeWord("hello there");
    device.abort();
    device.abort(true);
    device.stopListening();
    device.notify("notifications/button", { pressed: true });
    expect(await connection.texts.take()).toBe(
      '{"session_id":"s","type":"listen","state":"detect","text":"hello there"}',
    );
    expect(await connection.texts.take()).toBe('{"session_id":"s","type":"abort"}');
    expect(await connection.texts.take()).toBe(
      '{"session_id":"s","type":"abort","reason":"wake_word_detected"}',
    );
    expect(await connection.texts.take()).toBe('{"session_id":"s","type":"listen","state":"stop"}');
    expect(await connection.reply()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/button",
      params: { pressed: true },
    });
  });

  it("shows known messages and ignores unknown ones", async () => {
    const device = make();
    const connection = await welcomed(device);
    const messages: string[] = [];
    device.on("message", ({ type, fields }) =>
      messages.push(`${type} ${fields["text"] ?? fields["message"] ?? ""}`),
    );
    const ignored: string[] = [];
    device.on("frame-ignored", ({ why }) => ignored.push(why));
    connection.send({ type: "stt", text: "turn it up" });
    connection.send({ type: "llm", emotion: "happy", text: "x" });
    connection.send({ type: "alert", status: "s", message: "tools only", emotion: "sad" });
    connection.send({ type: "alert", status: "s", message: "no emotion" });
    connection.send({ type: "goodbye", session_id: "s" });
    connection.send({ type: "system", command: "dance" });
    await connection.quiet();
    expect(messages).toEqual(["stt turn it up", "llm x", "alert tools only", "system "]);
    expect(ignored).toEqual([
      "Alert command requires status, message and emotion",
      "Unknown message type: goodbye",
    ]);
    expect(device.state.get("emotion")).toBe("happy");
    expect(device.connected).toBe(true);
  });

  it.each([
    [{ id: 1, jsonrpc: "1.0", method: "tools/list" }, "Invalid JSONRPC version: 1.0"],
    [{ id: 1, jsonrpc: undefined, method: "tools/list" }, "Invalid JSONRPC version: null"],
    [{ id: 1 }, "Missing method"],
    [{ id: 1, method: "tools/list", params: null }, "Invalid params for method: tools/list"],
    [{ id: "1", method: "tools/call" }, "Invalid id for method: tools/call"],
    [{ method: "tools/call" }, "Invalid id for method: tools/call"],
  ])("drops %j without an answer, and logs it in the firmware's words", async (payload, why) => {
    const device = make();
    const connection = await welcomed(device);
    const ignored = device.waitFor("frame-ignored");
    connection.mcp(payload);
    expect(await ignored).toEqual({ kind: "frame-ignored", why });
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });

  it.each([
    [1, "0a0b0c"],
    [2, "00020000000000000000002a000000030a0b0c"],
    [3, "000000030a0b0c"],
  ] as const)("frames audio for protocol version %i, both ways", async (version, hex) => {
    const device = make({ transport: webSocketTransport({ url: site.current.url, version }) });
    const connection = await welcomed(device);
    device.sendAudio(Buffer.from([10, 11, 12]), 42);
    expect((await connection.binaries.take()).toString("hex")).toBe(hex);
    const heard: string[] = [];
    device.on("audio", ({ bytes, played }) => heard.push(`${bytes} ${played}`));
    connection.socket.send(Buffer.from(hex, "hex"));
    connection.send({ type: "tts", state: "start" });
    connection.socket.send(Buffer.from(hex, "hex"));
    await connection.quiet();
    expect(heard).toEqual(["3 false", "3 true"]);
  });

  it("does not read past the end of an audio frame with a wrong length", async () => {
    const device = make({ transport: webSocketTransport({ url: site.current.url, version: 3 }) });
    const connection = await welcomed(device);
    const ignored = device.waitFor("frame-ignored");
    connection.socket.send(Buffer.from("0000ffff0a", "hex"));
    expect(await ignored).toMatchObject({ why: expect.stringContaining("shorter") as string });
  });
});
