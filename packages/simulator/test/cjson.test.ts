import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromText, toText } from "../src/esp32/byte-text.ts";
import { type CjsonNode, parseCjson } from "../src/esp32/cjson-parse.ts";
import { type JsonValue, printJson } from "../src/esp32/cjson-print.ts";

function plain(node: CjsonNode): JsonValue {
  switch (node.kind) {
    case "null":
      return null;
    case "string":
      return toText(node.value);
    case "array":
      return node.items.map(plain);
    case "object":
      return Object.fromEntries(node.members.map(({ key, value }) => [toText(key), plain(value)]));
    default:
      return node.value;
  }
}

function parsed(text: string): JsonValue | undefined {
  const node = parseCjson(fromText(text));
  return node === undefined ? undefined : plain(node);
}

/** A C string cannot hold NUL. */
const words = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", ""));
const keys = words.filter((key) => key !== "__proto__");
const documents = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    words,
    fc.array(tie("value")),
    fc.dictionary(keys, tie("value")),
  ),
})).value as fc.Arbitrary<JsonValue>;

describe("the device's JSON", () => {
  it("reads what JSON.stringify writes", () => {
    fc.assert(
      fc.property(documents, (value) => {
        expect(parsed(JSON.stringify(value))).toEqual(value);
      }),
    );
  });

  it("prints what JSON.parse reads as the same", () => {
    fc.assert(
      fc.property(documents, (value) => {
        expect(JSON.parse(toText(printJson(value)))).toEqual(value);
      }),
    );
  });

  it("never throws, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0dD8e+-.19tfn \0\u00ff') }), (text) => {
        expect(() => parseCjson(fromText(text))).not.toThrow();
      }),
    );
  });

  it.each([
    ["\u0001\u0002[1]", [1]],
    ["-.5", -0.5],
    ["1.", 1],
    ["-", undefined],
    ["1e", 1],
    ["[1e]", undefined],
    ["0x10", 0],
    ["nullx", null],
    ['"\\u00zz tail"', ""],
    ['"\\u12"', undefined],
    ['{"a":1,}', undefined],
    ["[,1]", undefined],
    ['"open', undefined],
    ['"a\\', undefined],
  ])("%j reads as %j", (text, value) => {
    expect(parsed(text)).toEqual(value);
  });
});
