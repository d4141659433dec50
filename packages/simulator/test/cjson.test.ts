import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromText, toText } from "../src/esp32/byte-text.ts";
import { type CjsonNode, parseCjson, parseCjsonByLength } from "../src/esp32/cjson-parse.ts";
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

/** A C string cannot contain NUL. */
const words = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", ""));
const keys = words.filter((key) => key !== "__proto__");
const doubles = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);

function documents(numbers: fc.Arbitrary<number>): fc.Arbitrary<JsonValue> {
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constant(null),
      fc.boolean(),
      numbers,
      words,
      fc.array(tie("value")),
      fc.dictionary(keys, tie("value")),
    ),
  })).value as fc.Arbitrary<JsonValue>;
}

describe("the device's JSON", () => {
  it("parses the output of JSON.stringify", () => {
    fc.assert(
      fc.property(documents(doubles), (value) => {
        expect(parsed(JSON.stringify(value))).toEqual(value);
      }),
    );
  });

  it("prints text that JSON.parse reads as the same value", () => {
    fc.assert(
      fc.property(documents(fc.integer()), (value) => {
        expect(JSON.parse(toText(printJson(value)))).toEqual(value);
      }),
    );
  });

  it("prints numbers that read back within DBL_EPSILON", () => {
    fc.assert(
      fc.property(doubles, (value) => {
        const printed = printJson(value);
        expect(printed).toMatch(/^-?\d(?:\d*(?:\.\d+)?|(?:\.\d+)?e[+-]\d\d+)$/);
        const read = Number(printed);
        if (!Number.isFinite(read)) expect(Math.abs(value)).toBeGreaterThan(1.797693134862315e308);
        else expect(Math.abs(read - value)).toBeLessThanOrEqual(Math.abs(value) * 2 * Number.EPSILON);
      }),
    );
  });

  // Expected values are the output of a C library's printf.
  it.each([
    [0.30000000000000004, "0.3"],
    [1.7976931348623157e308, "1.79769313486232e+308"],
    [-1.7976931348623157e308, "-1.79769313486232e+308"],
    [5e-324, "4.94065645841247e-324"],
    [2.2250738585072014e-308, "2.2250738585072014e-308"],
    [2 ** -25, "2.9802322387695312e-08"],
    [Math.PI, "3.1415926535897931"],
    [-1e-7, "-1e-07"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [0.00012345, "0.00012345"],
    [100.5, "100.5"],
    [123456789012345.5, "123456789012345.5"],
    [1000000000000.125, "1000000000000.125"],
    [1e14, "100000000000000"],
    [1e15, "1e+15"],
    [9007199254740992, "9.00719925474099e+15"],
    [123456789012345680, "1.2345678901234568e+17"],
    [2147483647, "2147483647"],
    [2147483648, "2147483648"],
    [-2147483648, "-2147483648"],
    [-2147483649, "-2147483649"],
    [-0, "0"],
    [Number.POSITIVE_INFINITY, "null"],
    [Number.NaN, "null"],
  ])("%d prints as %s", (value, text) => {
    expect(printJson(value)).toBe(text);
  });

  it("never throws, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0dD8e+-.19tfn \0\u00ff') }), (text) => {
        expect(() => parseCjson(fromText(text))).not.toThrow();
        expect(() => parseCjsonByLength(fromText(text))).not.toThrow();
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
