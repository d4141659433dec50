import { decodeServerLine, encodeCall, encodeQuit } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { nested } from "../read-fixture.ts";

const tool = { name: "get_alarm_status", description: "", input_schema: { type: "object", properties: {} } };

const fromServer: readonly Readonly<Record<string, unknown>>[] = [
  { type: "ready", version: "0.1.0", tools: [tool] },
  { type: "ready", tools: [] },
  { type: "ready", version: "0.1.0", tools: [tool, 5, null] },
  { type: "result", id: 1, ok: true, result: { ok: true } },
  { type: "result", id: 0, ok: true, result: null },
  { type: "result", id: "a", result: [1] },
  { type: "error", id: null, ok: false, error: "Error al parsear JSON: x" },
  { type: "error", id: -1.5, ok: false, error: "Luz 'ñ' no encontrada" },
  { type: "event", event: "light_changed", data: { name: "salon", on: true } },
  { type: "event", event: "tick" },
];

describe("a line from the server", () => {
  test.each(fromServer)("of a known kind is ok: %j", (message) => {
    expect(decodeServerLine(JSON.stringify(message))).toEqual({ outcome: "ok", message });
  });

  test.each(["call", "quit", "hello", "", "__proto__", "constructor"])("of kind %j is unknown", (kind) => {
    expect(decodeServerLine(JSON.stringify({ type: kind }))).toEqual({ outcome: "unknown", kind });
  });

  test.each([
    ["nothing", "", "not JSON"],
    ["words", "Warning: config not found", "not JSON"],
    ["too much depth", nested(300), "not JSON"],
    ["a list", "[]", "`type`"],
    ["a number", "3", "`type`"],
    ["no type", "{}", "`type`"],
    ["a type that is no text", '{"type":1}', "`type`"],
    ["ready without tools", '{"type":"ready"}', "ready: "],
    ["ready whose tools are no list", '{"type":"ready","tools":{}}', "ready: /tools"],
    ["too many tools", `{"type":"ready","tools":[${"1,".repeat(1000)}1]}`, "ready: /tools"],
    ["a result without an id", '{"type":"result","ok":true,"result":1}', "result: "],
    ["a result with null as its id", '{"type":"result","id":null,"ok":true,"result":1}', "result: /id"],
    ["a result that is none", '{"type":"result","id":1,"ok":false,"result":1}', "result: /ok"],
    ["a result without one", '{"type":"result","id":1,"ok":true}', "result: "],
    ["an id without end", `{"type":"result","id":"${"x".repeat(257)}","result":1}`, "result: /id"],
    ["an error without text", '{"type":"error","id":1,"ok":false}', "error: "],
    ["an error whose text is none", '{"type":"error","id":1,"ok":false,"error":{}}', "error: /error"],
    ["an event without a name", '{"type":"event","data":{}}', "event: "],
    ["an event with a list", '{"type":"event","event":"x","data":[]}', "event: /data"],
  ])("is invalid with its reason: %s", (_, line, reason) => {
    expect(decodeServerLine(line)).toMatchObject({
      outcome: "invalid",
      reason: expect.stringContaining(reason) as string,
    });
  });

  it("names the call that an invalid answer belongs to", () => {
    for (const line of ['{"type":"result","id":1,"ok":true}', '{"type":"error","id":"1","error":{}}']) {
      expect(decodeServerLine(line)).toMatchObject({ outcome: "invalid", replyTo: 1 });
    }
  });
});

describe("encoding", () => {
  it("writes the lines of the specification", () => {
    expect(encodeCall(1, "set_light_state", { name: "salon", on: true })).toBe(
      '{"type":"call","id":1,"tool":"set_light_state","args":{"name":"salon","on":true}}\n',
    );
    expect(encodeCall("a", "get_presence")).toBe(
      '{"type":"call","id":"a","tool":"get_presence","args":{}}\n',
    );
    expect(encodeQuit()).toBe('{"type":"quit"}\n');
  });

  it("writes one line for any message, and decodes it again", () => {
    const id = fc.oneof(fc.integer(), fc.string());
    fc.assert(
      fc.property(
        id,
        fc.string({ minLength: 1 }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (own, name, args) => {
          const line = encodeCall(own, name, args);
          expect(line.indexOf("\n")).toBe(line.length - 1);
          expect(JSON.stringify(JSON.parse(line))).toBe(
            JSON.stringify({ type: "call", id: own, tool: name, args }),
          );
        },
      ),
    );
  });

  it("never throws on any input", () => {
    const odd = fc.oneof(
      fc.string(),
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify({ type: "result", id: value })),
    );
    fc.assert(
      fc.property(odd, (line) => {
        expect(["ok", "unknown", "invalid"]).toContain(decodeServerLine(line).outcome);
      }),
    );
  });
});
