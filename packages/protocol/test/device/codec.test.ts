import {
  type Decoded,
  decodeDeviceFrame,
  decodeServerFrame,
  encodeMcp,
  encodeServerMessage,
} from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { codePoint } from "../code-point.ts";
import { nested, readFixture } from "../read-fixture.ts";

const audio_params = { format: "opus", sample_rate: 16000, channels: 1, frame_duration: 60 };
const udp = { server: "10.0.0.1", port: 8884, key: "0".repeat(32), nonce: `01${"0".repeat(30)}` };
const serverHello = { type: "hello", transport: "websocket", session_id: "s-1", audio_params } as const;

const fromDevice: readonly { readonly type: string; readonly [key: string]: unknown }[] = [
  { type: "hello" },
  { type: "hello", version: 3, features: { mcp: true, aec: true }, transport: "websocket", audio_params },
  { session_id: "", type: "listen", state: "start", mode: "auto" },
  { session_id: "s", type: "listen", state: "start", mode: "manual" },
  { session_id: "s", type: "listen", state: "start", mode: "realtime" },
  { session_id: "s", type: "listen", state: "stop" },
  { session_id: "s", type: "listen", state: "detect", text: "你好小智" },
  { session_id: "s", type: "abort" },
  { session_id: "s", type: "abort", reason: "wake_word_detected" },
  { type: "goodbye" },
  { session_id: "s", type: "goodbye" },
  { type: "custom", payload: {} },
];

const fromServer = [
  serverHello,
  { ...serverHello, transport: "udp", udp },
  { ...serverHello, transport: "mqtt" },
  { type: "tts", state: "start" },
  { type: "tts", state: "stop" },
  { type: "tts", state: "sentence_start", text: "hello" },
  { type: "stt", text: "turn it up" },
  { type: "llm", emotion: "happy", text: "🙂" },
  { type: "system", command: "reboot" },
  { type: "alert", status: "a", message: "b", emotion: "sad" },
  { type: "custom", payload: { a: [1] } },
  { type: "goodbye", session_id: "s" },
] as const;

describe("a frame from a device", () => {
  test.each(fromDevice)("of a known kind is ok: %j", (message) => {
    expect(decodeDeviceFrame(JSON.stringify(message))).toEqual({ outcome: "ok", message });
  });

  it("keeps unknown fields", () => {
    const message = {
      type: "hello",
      text_font: { bundle: "noto-v1" },
      features: { mcp: true, glyph_push: false },
    };
    expect(decodeDeviceFrame(JSON.stringify(message))).toEqual({ outcome: "ok", message });
  });

  it("has JSON-RPC in mcp", () => {
    const frame = encodeMcp("s", { jsonrpc: "2.0", id: 5, result: { tools: [] } });
    expect(frame).toBe(
      '{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":5,"result":{"tools":[]}}}',
    );
    expect(decodeDeviceFrame(frame)).toEqual({
      outcome: "ok",
      message: { type: "mcp", rpc: { kind: "result", id: 5, result: { tools: [] } } },
    });
  });

  test.each([
    "iot",
    "tts",
    "stt",
    "llm",
    "system",
    "alert",
    "",
    "HELLO",
    "__proto__",
    "constructor",
    "toString",
  ])("of kind %j is unknown, not invalid", (kind) => {
    expect(decodeDeviceFrame(JSON.stringify({ type: kind }))).toEqual({ outcome: "unknown", kind });
  });

  it("names an unknown kind by its first 64 characters only", () => {
    expect(decodeDeviceFrame(JSON.stringify({ type: "k".repeat(100_000) }))).toEqual({
      outcome: "unknown",
      kind: "k".repeat(64),
    });
  });

  test.each([
    ["nothing", "", "not JSON"],
    ["spaces", "  \n", "not JSON"],
    ["words", "hello", "not JSON"],
    ["half a frame", '{"type":"hello"', "not JSON"],
    ["a frame with a tail", '{"type":"hello"} trailing', "not JSON"],
    ["a byte order mark", '\ufeff{"type":"hello"}', "not JSON"],
    ["a list", "[]", "`type`"],
    ["a list of frames", '[{"type":"hello"}]', "`type`"],
    ["a number", "42", "`type`"],
    ["text", '"hello"', "`type`"],
    ["true", "true", "`type`"],
    ["null", "null", "`type`"],
    ["an empty object", "{}", "`type`"],
    ["no type", '{"session_id":"s"}', "`type`"],
    ["a type that is a number", '{"type":5}', "`type`"],
    ["a type that is null", '{"type":null}', "`type`"],
    ["a type that is a list", '{"type":["hello"]}', "`type`"],
    ["a type that is inherited", '{"__proto__":{"type":"hello"}}', "`type`"],
    ["a version that is text", '{"type":"hello","version":"1"}', "/version"],
    ["a version that is null", '{"type":"hello","version":null}', "/version"],
    ["a version without end", '{"type":"hello","version":1e400}', "/version"],
    ["features that are a list", '{"type":"hello","features":[]}', "/features"],
    ["features that are null", '{"type":"hello","features":null}', "/features"],
    ["audio that is text", '{"type":"hello","audio_params":"opus"}', "/audio_params"],
    [
      "a rate that is text",
      '{"type":"hello","audio_params":{"sample_rate":"x"}}',
      "/audio_params/sample_rate",
    ],
    ["a transport that is too long", `{"type":"hello","transport":"${"x".repeat(33)}"}`, "/transport"],
    ["listen without state", '{"type":"listen"}', "listen"],
    ["listen with another state", '{"type":"listen","state":"pause"}', "/state"],
    ["listen with another mode", '{"type":"listen","state":"start","mode":"x"}', "/mode"],
    ["listen with text null", '{"type":"listen","state":"detect","text":null}', "/text"],
    ["a session id that is a number", '{"type":"abort","session_id":1}', "/session_id"],
    ["a session id that is null", '{"type":"goodbye","session_id":null}', "/session_id"],
    ["custom without payload", '{"type":"custom"}', "custom"],
    ["custom with a list", '{"type":"custom","payload":[]}', "/payload"],
    ["custom with null", '{"type":"custom","payload":null}', "/payload"],
    ["mcp without payload", '{"type":"mcp"}', "/payload"],
    ["mcp with null", '{"type":"mcp","payload":null}', "/payload"],
    ["mcp with a batch", '{"type":"mcp","payload":[{"jsonrpc":"2.0","id":1,"result":1}]}', "/payload"],
    ["mcp with text", '{"type":"mcp","payload":"{}"}', "/payload"],
  ])("that is %s is invalid, and the reason names the location", (_, text, where) => {
    expect(decodeDeviceFrame(text)).toEqual({ outcome: "invalid", reason: expect.stringContaining(where) });
  });
});

describe("a frame from the server", () => {
  test.each(fromServer)("is the same after writing and reading: %j", (message) => {
    expect(decodeServerFrame(encodeServerMessage(message))).toEqual({ outcome: "ok", message });
  });

  it("has JSON-RPC in mcp", () => {
    const payload = { jsonrpc: "2.0", id: 1, method: "initialize" };
    expect(decodeServerFrame(encodeMcp("s", payload))).toEqual({
      outcome: "ok",
      message: { type: "mcp", payload },
    });
  });

  test.each(["listen", "abort", "iot", "constructor"])("of kind %j is unknown", (kind) => {
    expect(decodeServerFrame(JSON.stringify({ type: kind }))).toEqual({ outcome: "unknown", kind });
  });

  test.each([
    ["a list", [], "`type`"],
    ["no transport, which crashes a board", { ...serverHello, transport: undefined }, "hello"],
    ["a transport that is a number, which crashes a board", { ...serverHello, transport: 1 }, "/transport"],
    ["another transport", { ...serverHello, transport: "tcp" }, "/transport"],
    ["no session id", { ...serverHello, session_id: undefined }, "hello"],
    ["an empty session id", { ...serverHello, session_id: "" }, "/session_id"],
    ["a session id with a quote", { ...serverHello, session_id: 'a"b' }, "/session_id"],
    ["a session id with a line end", { ...serverHello, session_id: "a\n" }, "/session_id"],
    ["a session id of 65 characters", { ...serverHello, session_id: "a".repeat(65) }, "/session_id"],
    ["no audio parameters", { ...serverHello, audio_params: undefined }, "hello"],
    ["a key that is too short", { ...serverHello, udp: { ...udp, key: "00" } }, "/udp/key"],
    [
      "a nonce that does not begin with 01",
      { ...serverHello, udp: { ...udp, nonce: "0".repeat(32) } },
      "/udp/nonce",
    ],
    ["port 0", { ...serverHello, udp: { ...udp, port: 0 } }, "/udp/port"],
    ["an alert without emotion", { type: "alert", status: "a", message: "b" }, "alert"],
    ["tts without state", { type: "tts" }, "tts"],
    ["stt without text", { type: "stt" }, "stt"],
    ["llm without emotion", { type: "llm" }, "llm"],
    ["system without command", { type: "system", command: null }, "/command"],
    ["mcp with a list", { type: "mcp", payload: [] }, "/payload"],
  ])("with %s is invalid, and the reason names the location", (_, frame, where) => {
    expect(decodeServerFrame(JSON.stringify(frame))).toEqual({
      outcome: "invalid",
      reason: expect.stringContaining(where),
    });
  });
});

interface RecordedFrame {
  readonly case: string;
  readonly from: "device" | "backend";
  readonly outcome: Decoded<never>["outcome"];
  readonly frame: string;
}

describe("recorded frames", () => {
  test.each(readFixture<RecordedFrame>("frames"))("$case, from the $from, is $outcome: $frame", (row) => {
    const decode = row.from === "device" ? decodeDeviceFrame : decodeServerFrame;
    expect(decode(row.frame).outcome).toBe(row.outcome);
  });
});

describe("decoding any input returns one of three outcomes and never throws", () => {
  const decoders: readonly ((text: string) => Decoded<unknown>)[] = [decodeDeviceFrame, decodeServerFrame];

  function expectAnOutcome(text: string): void {
    for (const decode of decoders) {
      const decoded = decode(text);
      switch (decoded.outcome) {
        case "ok":
          expect(decoded.message).toHaveProperty("type");
          break;
        case "unknown":
          expect(decoded.kind.length).toBeLessThanOrEqual(64);
          break;
        case "invalid":
          expect(decoded.reason).not.toBe("");
          break;
      }
    }
  }

  it("any text", () => {
    fc.assert(fc.property(fc.string({ unit: codePoint, maxLength: 200 }), expectAnOutcome));
  });

  it("any JSON", () => {
    fc.assert(fc.property(fc.json(), expectAnOutcome));
  });

  it("any JSON behind a known kind", () => {
    const kinds = [
      "hello",
      "listen",
      "abort",
      "goodbye",
      "custom",
      "mcp",
      "tts",
      "stt",
      "llm",
      "system",
      "alert",
    ];
    const junk = fc.dictionary(
      fc.constantFrom(
        "version",
        "features",
        "audio_params",
        "state",
        "text",
        "payload",
        "session_id",
        "udp",
        "reason",
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds), junk, (type, fields) =>
        expectAnOutcome(JSON.stringify({ ...fields, type })),
      ),
    );
  });

  it("a valid frame with a part removed or replaced", () => {
    const sound = [...fromDevice, ...fromServer].map((message) => JSON.stringify(message));
    const broken = readFixture<RecordedFrame>("frames").map((row) => row.frame);
    const spot = fc.tuple(
      fc.nat(2_000),
      fc.nat(20),
      fc.constantFrom("", '"', "\\", "{", "}", "null", "\u0000", ","),
    );
    fc.assert(
      fc.property(fc.constantFrom(...sound, ...broken), spot, (frame, [at, length, piece]) =>
        expectAnOutcome(
          frame.slice(0, at % frame.length) + piece + frame.slice((at % frame.length) + length),
        ),
      ),
      { numRuns: 500 },
    );
  });

  const MEGABYTE = 1_000_000;
  test.each([
    ["letters", "x".repeat(MEGABYTE)],
    ["quotes", '"'.repeat(MEGABYTE)],
    ["backslashes", "\\".repeat(MEGABYTE)],
    ["spaces", " ".repeat(MEGABYTE)],
    ["a long text in a frame", `{"type":"listen","state":"detect","text":"${"x".repeat(MEGABYTE)}"}`],
    [
      "combining marks in a frame",
      `{"type":"listen","state":"detect","text":"a${"\u0301".repeat(MEGABYTE)}"}`,
    ],
    ["many fields", `{"type":"custom","payload":{${Array.from({ length: 90_000 }, (_, n) => `"k${n}":0`)}}}`],
  ])("a megabyte of %s", (_, text) => {
    expectAnOutcome(text);
  });

  test.each([
    ["bare lists", nested(10_000)],
    ["bare objects", nested(10_000, '{"a":', "}").replace('{"a":}', "{}")],
    ["lists that never end", "[".repeat(500_000)],
    ["a field of hello", `{"type":"hello","version":${nested(10_000)}}`],
    ["an unknown kind", `{"type":"x","y":${nested(10_000)}}`],
    ["custom", `{"type":"custom","payload":{"a":${nested(10_000)}}}`],
    ["a result", `{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":${nested(10_000)}}}`],
    ["an error", `{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"error":${nested(130_000)}}}`],
    [
      "an error behind a broken session id",
      `{"session_id":"a"b","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"error":${nested(130_000)}}}`,
    ],
  ])("10,000 levels and more in %s are invalid", (_, text) => {
    for (const decode of decoders) expect(decode(text).outcome).toBe("invalid");
  });

  it("a decoded frame can be written as JSON again", () => {
    const atTheBound = `{"type":"custom","payload":{"a":${nested(254)}}}`;
    const decoded = decodeDeviceFrame(atTheBound);
    expect(decoded).toMatchObject({ outcome: "ok" });
    expect(JSON.stringify(decoded)).toContain(nested(254));
    expect(decodeDeviceFrame(`{"type":"custom","payload":{"a":${nested(255)}}}`).outcome).toBe("invalid");
  });
});
