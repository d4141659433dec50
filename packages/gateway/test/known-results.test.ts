import { decodeDeviceFrame } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { KnownResults } from "../src/device/known-results.ts";

const list = '{"tools":[{"name":"a","description":"\\"result\\":{\\"tools\\":[]}}"}],"nextCursor":"b"}';

function frame(id: number, result = list, session = "s"): string {
  return `{"session_id":"${session}","type":"mcp","payload":{"jsonrpc":"2.0","id":${id},"result":${result}}}`;
}

function resultOf(decoded: ReturnType<KnownResults["decode"]>): unknown {
  if (decoded.outcome !== "ok" || decoded.message.type !== "mcp" || decoded.message.rpc.kind !== "result")
    throw new Error(`not a result: ${JSON.stringify(decoded)}`);
  return decoded.message.rpc.result;
}

describe("a tool list that several boards send", () => {
  it("is parsed once and shared", () => {
    const known = new KnownResults();
    const first = resultOf(known.decode(frame(1)));
    const second = known.decode(frame(2, list, "another"));
    expect(resultOf(second)).toBe(first);
    expect(second).toEqual(decodeDeviceFrame(frame(2, list, "another")));
    expect(() => Object.assign(first as object, { more: true })).toThrow();
  });

  it.each([
    [
      "in another order",
      `{"type":"mcp","payload":{"jsonrpc":"2.0","result":${list},"id":4},"session_id":"s"}`,
    ],
    ["in a text", '{"type":"listen","state":"\\"result\\":{\\"tools\\":[]}}"}}'],
    [
      "as an error's text",
      `{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":4,"error":{"message":"${list}"}}}`,
    ],
    [
      "for another key",
      `{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":4,"x":{"result":${list}}}}`,
    ],
    ["cut short", frame(4).slice(0, -1)],
    ["with an id that is none", frame(4).replace('"id":4', '"id":"4"')],
    ["that is not closed", frame(4, list.slice(0, -1))],
    ["with a method", frame(4).replace('"id":4', '"id":4,"method":"ping"')],
    ["without a type", frame(4).replace('"type":"mcp",', "")],
    ["after another result", frame(4).replace('"id":4', '"id":4,"result":1')],
  ])("is decoded as any frame: %s", (_, text) => {
    const known = new KnownResults();
    known.decode(frame(1));
    expect(known.decode(text)).toEqual(decodeDeviceFrame(text));
    expect(known.decode(text)).toEqual(decodeDeviceFrame(text));
  });

  it("is forgotten when many others follow", () => {
    const known = new KnownResults();
    const first = resultOf(known.decode(frame(1)));
    for (let count = 0; count < 300; count += 1) known.decode(frame(2, `{"tools":[{"name":"t${count}"}]}`));
    expect(resultOf(known.decode(frame(3)))).not.toBe(first);
    expect(resultOf(known.decode(frame(3)))).toEqual(first);
  });
});
