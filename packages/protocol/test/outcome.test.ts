import { isObject, limits, parseJson } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { nested } from "./read-fixture.ts";

describe("parseJson", () => {
  it("returns the parsed value", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each(["", " ", "undefined", "NaN", "{", "[1,]", "{'a':1}", "// x", '"\n"'])(
    "%j is no JSON",
    (text) => {
      expect(parseJson(text)).toBeUndefined();
    },
  );

  it("rejects values nested deeper than the bound", () => {
    expect(parseJson(nested(limits.jsonDepth.max))).toBeDefined();
    expect(parseJson(nested(limits.jsonDepth.max + 1))).toBeUndefined();
    expect(parseJson(nested(1_000_000))).toBeUndefined();
  });

  it("rejects deep nesting anywhere in the value", () => {
    expect(parseJson(`[1,{"a":[2,${nested(limits.jsonDepth.max)}]},3]`)).toBeUndefined();
  });
});

describe("an object", () => {
  test.each([[{}], [{ a: 1 }], [Object.create(null)]])("is %j", (value) => {
    expect(isObject(value)).toBe(true);
  });

  test.each([[null], [undefined], [[]], [1], ["{}"], [true]])("is not %j", (value) => {
    expect(isObject(value)).toBe(false);
  });
});
