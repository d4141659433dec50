import {
  decodeDeviceFrame,
  encodeMcp,
  encodeRequest,
  largestRequestId,
  nextRequestId,
} from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { envelope, readFixture } from "../read-fixture.ts";

function decodePayload(payload: { readonly [key: string]: unknown }) {
  return decodeDeviceFrame(encodeMcp("s", { jsonrpc: "2.0", ...payload }));
}

function rpc(message: object) {
  return { outcome: "ok", message: { type: "mcp", rpc: message } };
}

function invalid(reason: string) {
  return { outcome: "invalid", reason: expect.stringContaining(reason) };
}

describe("a result", () => {
  test.each([[{ tools: [] }], ["text"], [0], [false], [null], [[]], [{}]])("may be %j", (result) => {
    expect(decodePayload({ id: 1, result })).toEqual(rpc({ kind: "result", id: 1, result }));
  });

  it("is required", () => {
    expect(decodePayload({ id: 1 })).toEqual(invalid("neither method, result nor error"));
  });

  it("is not read from inherited properties", () => {
    const frame = envelope('{"jsonrpc":"2.0","id":1,"__proto__":{"result":1}}');
    expect(decodeDeviceFrame(frame)).toEqual(invalid("neither method, result nor error"));
  });
});

describe("an error", () => {
  test.each([
    ["has no code in the firmware", { message: "Unknown tool: x" }, "Unknown tool: x"],
    ["may have a code", { code: -32601, message: "Method not found" }, "Method not found"],
    ["may have an empty message", { message: "" }, ""],
    ["without message is shown as it came", { code: 5 }, '{"code":5}'],
    ["whose message is no text is shown as it came", { message: 7 }, '{"message":7}'],
    ["that is text is shown as it came", "broken", '"broken"'],
    ["that is a number is shown as it came", 3, "3"],
    ["that is a list is shown as it came", ["a"], '["a"]'],
    ["that is true is shown as it came", true, "true"],
  ])("%s", (_, error, message) => {
    expect(decodePayload({ id: 9, error })).toMatchObject(
      rpc({ kind: "error", id: 9, message, salvaged: false }),
    );
  });

  it("keeps its code and data only if the code comes first", () => {
    const first = { code: -32_001, message: "too hot", data: { celsius: 91 } };
    expect(decodePayload({ id: 9, error: first })).toMatchObject(rpc({ cause: first }));
    for (const error of [{ message: "no" }, { message: "no", code: 1, data: 2 }]) {
      expect(decodePayload({ id: 9, error })).not.toHaveProperty("message.rpc.cause");
    }
  });

  it("takes precedence over a result", () => {
    expect(decodePayload({ id: 9, result: {}, error: { message: "no" } })).toMatchObject(
      rpc({ kind: "error", message: "no" }),
    );
  });
});

describe("a message without an id is a notification, whatever its method", () => {
  test.each(["notifications/tools/list_changed", "state_changed", "tools/call", "initialize", ""])(
    "%j",
    (method) => {
      const expected = rpc({ kind: "notification", method, params: { a: 1 } });
      expect(decodePayload({ method, params: { a: 1 } })).toEqual(expected);
      expect(decodePayload({ method, params: { a: 1 }, id: null })).toEqual(expected);
    },
  );

  test.each([[undefined], [null], [[1, 2]], ["text"], [5]])("its params may be %j", (params) => {
    const message = { kind: "notification", method: "m", params };
    expect(decodePayload({ method: "m", ...(params === undefined ? {} : { params }) })).toEqual(rpc(message));
  });
});

describe("a request from the device", () => {
  test.each([[1], [0], [-1], [1.5], ["abc"], [""], [2 ** 40]])("keeps its id: %j", (id) => {
    expect(decodePayload({ id, method: "ping" })).toEqual(rpc({ kind: "request", id, method: "ping" }));
  });

  test.each([[true], [{}], [[1]]])("with the id %j is invalid", (id) => {
    expect(decodePayload({ id, method: "ping" })).toEqual(invalid("/payload/id"));
  });

  test.each([[null], [5], [["ping"]], [{}]])("with the method %j is invalid", (method) => {
    expect(decodePayload({ id: 1, method, result: {} })).toEqual(invalid("/payload/method"));
  });
});

describe("the id of a reply is an int32", () => {
  test.each([1, 0, -5, 2_147_483_647, -2_147_483_648])("%i is accepted", (id) => {
    expect(decodePayload({ id, result: {} })).toEqual(rpc({ kind: "result", id, result: {} }));
  });

  test.each([
    ["1"],
    [""],
    [1.5],
    [2_147_483_648],
    [-2_147_483_649],
    [1e300],
    [null],
    [undefined],
    [true],
    [[1]],
    [{}],
  ])("%j is invalid", (id) => {
    expect(decodePayload({ id, result: {} })).toMatchObject(invalid("/payload/id"));
    expect(decodePayload({ id, error: { message: "no" } })).toMatchObject(invalid("/payload/id"));
  });
});

describe("a payload must have jsonrpc 2.0", () => {
  test.each([["1.0"], [2], [2.0], [""], [null], [undefined]])("%j is invalid", (jsonrpc) => {
    expect(decodePayload({ jsonrpc, id: 1, result: {} })).toMatchObject(invalid("/payload/jsonrpc"));
  });
});

describe("an invalid reply names the request that it was meant to answer", () => {
  const reply = { jsonrpc: "2.0", id: 5, result: {} };

  test.each<[string, unknown]>([
    ["without jsonrpc", { type: "mcp", payload: { id: 5, result: {} } }],
    ["with another version", { type: "mcp", payload: { ...reply, jsonrpc: "1.0" } }],
    ["with its id as text", { type: "mcp", payload: { ...reply, id: "5" } }],
    ["without an envelope", reply],
    ["with its payload as text", { type: "mcp", payload: JSON.stringify(reply) }],
  ])("%s", (_, frame) => {
    expect(decodeDeviceFrame(JSON.stringify(frame))).toMatchObject({ outcome: "invalid", replyTo: 5 });
  });

  test.each<[string, unknown]>([
    ["an id that is no number", { type: "mcp", payload: { ...reply, id: "mine" } }],
    ["an id beyond 32 bits", { type: "mcp", payload: { ...reply, id: "99999999999" } }],
    ["a fraction", { type: "mcp", payload: { ...reply, id: 5.5 } }],
    ["neither result nor error", { type: "mcp", payload: { id: 5 } }],
    ["a request", { type: "mcp", payload: { id: 5, method: "ping", result: {} } }],
    ["a payload that is other text", { type: "mcp", payload: "5" }],
    ["another frame", { id: 5 }],
  ])("but not with %s", (_, frame) => {
    const decoded = decodeDeviceFrame(JSON.stringify(frame));
    expect(decoded).toMatchObject({ outcome: "invalid" });
    expect(decoded).not.toHaveProperty("replyTo");
  });
});

describe("recorded replies", () => {
  const rows = readFixture<{ readonly case: string; readonly payload: string }>("replies");

  test.each(rows)("$case decodes to the board's reply", ({ payload }) => {
    const { id, result, error } = JSON.parse(payload) as {
      readonly id: number;
      readonly result?: unknown;
      readonly error?: { readonly message: string };
    };
    const message =
      error === undefined
        ? { kind: "result", id, result }
        : { kind: "error", id, message: error.message, salvaged: false };
    expect(decodeDeviceFrame(envelope(payload))).toEqual(rpc(message));
  });
});

describe("requests to a device", () => {
  it("omit params if there are none, because the firmware drops null", () => {
    expect(JSON.stringify(encodeRequest(1, "ping"))).toBe('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  });

  it("have params as an object", () => {
    expect(JSON.stringify(encodeRequest(7, "tools/list", { cursor: "" }))).toBe(
      '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":""}}',
    );
  });

  test.each([
    [1, 2],
    [largestRequestId - 1, largestRequestId],
    [largestRequestId, 1],
    [largestRequestId + 1, 1],
    [0, 1],
  ])("after id %i comes %i", (id, next) => {
    expect(nextRequestId(id)).toBe(next);
  });

  it("always have an id that the firmware returns unchanged", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: largestRequestId }), (id) => {
        const next = nextRequestId(id);
        expect(next).not.toBe(id);
        expect(decodePayload({ id: next, result: {} })).toEqual(
          rpc({ kind: "result", id: next, result: {} }),
        );
      }),
    );
  });
});

test("`error: null` beside a result is a result", () => {
  const frame = '{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":4,"error":null,"result":{}}}';
  expect(decodeDeviceFrame(frame)).toEqual({
    outcome: "ok",
    message: { type: "mcp", rpc: { kind: "result", id: 4, result: {} } },
  });
});
