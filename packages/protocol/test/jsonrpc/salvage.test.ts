import { decodeDeviceFrame } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { envelope, nested, pastedError, readFixture } from "../read-fixture.ts";

interface PastedReply {
  readonly case: string;
  readonly message: string;
  readonly payload: string;
  readonly encoding?: "latin1";
}

const MESSAGE_LIMIT = 4_096;

function errorFor(id: number, message: unknown, salvaged: unknown = true, more: object = {}) {
  return { outcome: "ok", message: { type: "mcp", rpc: { kind: "error", id, message, salvaged, ...more } } };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("an error text that the firmware inserted unescaped", () => {
  const broken = readFixture<PastedReply>("broken-replies");

  test.each(broken.filter((row) => row.encoding === undefined))(
    "as recorded: $case",
    ({ payload, message }) => {
      expect(isJson(payload)).toBe(false);
      expect(decodeDeviceFrame(envelope(payload))).toEqual(errorFor(1, message));
      expect(decodeDeviceFrame(envelope(payload, ""))).toEqual(errorFor(1, message));
    },
  );

  test.each(broken.filter((row) => row.encoding === "latin1"))(
    "is recovered from a recording with invalid UTF-8: $case",
    (row) => {
      const text = Buffer.from(envelope(row.payload), "latin1").toString("utf8");
      expect(decodeDeviceFrame(text)).toEqual(errorFor(1, "Unknown tool: a\ufffd\ufffdb", false));
    },
  );

  test.each(readFixture<PastedReply>("pasted-replies"))(
    "is recovered from a recording that is valid JSON by accident: $case",
    ({ payload }) => {
      expect(isJson(payload)).toBe(true);
      expect(decodeDeviceFrame(envelope(payload))).toEqual(
        errorFor(1, expect.stringMatching(/^(Failed to open URL|Unknown tool): x/), expect.any(Boolean)),
      );
    },
  );

  test.each([
    ["a quote at its end", 'x"'],
    ["only a quote", '"'],
    ["the frame's own ending", 'x"}}}'],
    ["the frame's own ending and a space", 'x"}}} '],
    ["an ending that is not the end", '"}}}"}}}"'],
    ["a backslash at its end", "C:\\"],
    ["an escape that is none", "\\x41"],
    ["a line end", "a\r\nb"],
    ["a NUL", "a\u0000b"],
    ["a whole frame", '{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":2,"result":{}}}'],
  ])("with %s", (_, message) => {
    expect(decodeDeviceFrame(pastedError(message))).toEqual(errorFor(1, message));
  });

  test.each([1, 0, -5, 2_147_483_647, -2_147_483_648])("answers the call with id %i", (id) => {
    expect(decodeDeviceFrame(pastedError('a"b', id))).toEqual(errorFor(id, 'a"b'));
  });

  test.each([-32601, -32000, 0, 500])("is found after the code %i", (code) => {
    const cause = expect.objectContaining({ code }) as object;
    expect(decodeDeviceFrame(pastedError('a"b', 5, code))).toEqual(errorFor(5, 'a"b', true, { cause }));
    expect(decodeDeviceFrame(pastedError("plain", 5, code))).toEqual(errorFor(5, "plain", false, { cause }));
  });

  it("is found in a frame with spaces between its parts", () => {
    const frame =
      ' { "session_id" : "s" , "type" : "mcp" , "payload" : { "jsonrpc" : "2.0" , "id" : 4 , "error" : { "message" : "a"b" } } } ';
    expect(decodeDeviceFrame(frame)).toEqual(errorFor(4, 'a"b'));
  });

  it("is kept up to the end of a truncated frame", () => {
    expect(decodeDeviceFrame(pastedError("half a mess").slice(0, -5))).toEqual(errorFor(1, "half a mes"));
  });

  it("is truncated when it is very long", () => {
    expect(decodeDeviceFrame(pastedError(`"${"x".repeat(200_000)}`))).toEqual(
      errorFor(1, `"${"x".repeat(MESSAGE_LIMIT - 1)}`),
    );
  });

  it("is left to the ordinary decoder when it is escaped correctly", () => {
    expect(decodeDeviceFrame(pastedError('say \\"hi\\"'))).toEqual(errorFor(1, 'say "hi"', false));
  });
});

describe("an error text that makes the frame valid JSON with another meaning is still an error for the first id", () => {
  test.each([
    ["another id and a result", 'x"},"id":7,"result":{"content":[],"z":"'],
    ["a result for the same id", 'x"},"result":{"content":[{"type":"text","text":"true"}],"z":"'],
    ["another id with its own error", 'x"},"id":7,"error":{"message":"y'],
    ["a method, so that it would be a request", 'x"},"method":"ping","z":{"a":"'],
    ["a method and no id, so that it would be a notification", 'x"},"id":null,"method":"m","z":{"a":"'],
    ["another version, so that it would be dropped", 'x"},"jsonrpc":"1.0","error":{"message":"y'],
    ["another payload", 'x"}},"payload":{"jsonrpc":"2.0","id":7,"error":{"message":"y'],
    ["another payload for the same id", 'x"}},"payload":{"jsonrpc":"2.0","id":1,"result":{"a":"'],
    ["another kind of frame", 'x"}},"type":"hello","z":{"a":{"b":"'],
    [
      "another kind of frame and no field more",
      'x"}},"type":"goodbye","payload":{"jsonrpc":"2.0","id":1,"error":{"message":"',
    ],
    ["an error that is no object", 'x"},"error":"y","z":{"a":"'],
    ["a prototype", 'x"},"__proto__":{"result":"'],
    ["something nested very deeply", `x"},"z":${nested(50_000)},"error":{"message":"y`],
  ])("%s", (_, text) => {
    const frame = pastedError(text);
    expect(isJson(frame)).toBe(true);
    expect(decodeDeviceFrame(frame)).toEqual(errorFor(1, text.slice(0, MESSAGE_LIMIT)));
    expect(decodeDeviceFrame(pastedError(text, 1, -32000))).toEqual(
      errorFor(1, text.slice(0, MESSAGE_LIMIT), true, { cause: { code: -32000 } }),
    );
  });

  it("for any text", () => {
    const pieces = fc.constantFrom(
      '"',
      "}",
      "{",
      ",",
      ":",
      "\\",
      '"id":7',
      '"result":{}',
      '"error":{"message":"',
      "x",
      '"},',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        expect(decodeDeviceFrame(pastedError(parts.join(""), 3))).toEqual(
          errorFor(3, expect.any(String), expect.any(Boolean)),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("an unescaped session id", () => {
  const payload = '{"jsonrpc":"2.0","id":6,"result":{"tools":[]}}';
  const result = {
    outcome: "ok",
    message: { type: "mcp", rpc: { kind: "result", id: 6, result: { tools: [] } } },
  };

  test.each(['a"b', '"', "a\\", "a\nb", 'a","x":"'])("leaves the payload readable: %j", (sessionId) => {
    expect(decodeDeviceFrame(envelope(payload, sessionId))).toEqual(result);
  });

  it("leaves a notification readable", () => {
    expect(decodeDeviceFrame(envelope('{"jsonrpc":"2.0","method":"m"}', 'a"b'))).toMatchObject({
      message: { rpc: { kind: "notification", method: "m" } },
    });
  });

  test.each([
    ["the payload is broken as well", envelope('{"jsonrpc":"2.0","id":6,"result":{"a":"b"c"}}', 'a"b')],
    ["the payload is no JSON-RPC", envelope('{"id":6}', 'a"b')],
    ["the payload is cut", envelope(payload, 'a"b').slice(0, -3)],
    ["it is no mcp frame", '{"session_id":"a"b","type":"listen","state":"stop"}'],
  ])("makes the frame invalid when %s", (_, frame) => {
    expect(decodeDeviceFrame(frame)).toMatchObject({ outcome: "invalid" });
  });
});

describe("hostile frames are decoded in one pass", () => {
  const LENGTH = 200_000;
  const start = pastedError("").slice(0, -'"}}}'.length);

  test.each([
    ["spaces in front", " ".repeat(LENGTH)],
    ["spaces instead of a session id", `{${" ".repeat(LENGTH)}`],
    ["spaces after the session id", `{"session_id":"s"${" ".repeat(LENGTH)}x`],
    ["a session id without end", `{"session_id":"${"x".repeat(LENGTH)}`],
    ["kinds over and over", '"type" '.repeat(LENGTH / 7)],
    ["kinds with long gaps", `"type"${" ".repeat(1_000)}`.repeat(LENGTH / 1_000)],
    ["payloads over and over", '"type":"mcp","payload":'.repeat(LENGTH / 23)],
    ["a payload of closing brackets and spaces", `"type":"mcp","payload":${"} ".repeat(LENGTH / 2)}x`],
    ["a payload of one bracket and spaces", `"type":"mcp","payload":}${" ".repeat(LENGTH)}x`],
  ])("%s", (_, frame) => {
    expect(decodeDeviceFrame(frame)).toMatchObject({ outcome: "invalid" });
  });

  test.each([
    ["spaces", " ".repeat(LENGTH)],
    ["quotes", '"'.repeat(LENGTH)],
    ["endings that are none", '"}}} '.repeat(LENGTH / 5)],
    ["quotes and spaces", `"${" ".repeat(500)}`.repeat(LENGTH / 500)],
    ["a near ending and spaces", `"}}}${" ".repeat(LENGTH)}`],
    ["brackets", '"}'.repeat(LENGTH / 2)],
  ])("an error text of %s", (_, text) => {
    expect(decodeDeviceFrame(`${start}${text}x`)).toEqual(errorFor(1, text.slice(0, MESSAGE_LIMIT)));
  });

  test.each([
    ["of eleven digits", pastedError('a"b', "12345678901")],
    ["with a fraction", pastedError('a"b', "1.5")],
    ["that is text", pastedError('a"b', '"1"')],
    ["before a code that is text", pastedError('a"b', 1, '"x"')],
  ])("an id %s is not recovered", (_, frame) => {
    expect(decodeDeviceFrame(frame)).toMatchObject({ outcome: "invalid" });
  });
});
