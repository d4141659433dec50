import { firmwareHazards, limits } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

const MAX = 2_147_483_647;
const MIN = -2_147_483_648;

/** `levels` lists inside one another with `value` in the innermost. */
function wrapped(levels: number, value: unknown): unknown {
  return levels === 0 ? value : [wrapped(levels - 1, value)];
}

describe("arguments that a device reads unchanged", () => {
  test.each([
    [{}],
    [{ volume: 50 }],
    [{ a: MAX, b: MIN, c: 0, d: -0, e: 0.5, f: 1e-9 }],
    [{ text: "", unicode: "中文 🙂 é", quotes: '"\\\n\t' }],
    [{ yes: true, no: false, nothing: null }],
    [{ list: [1, "a", { b: [] }] }],
    [{ "": 1, "a/b": 2, "🙂": 3 }],
  ])("%j", (value) => {
    expect(firmwareHazards(value)).toEqual([]);
  });
});

describe("texts that a device would truncate or reject", () => {
  test.each([
    ["a NUL in the middle", "dark\u0000zzz", "NUL"],
    ["only a NUL", "\u0000", "NUL"],
    ["the first half of a pair", "a\ud83d", "well-formed"],
    ["the second half of a pair", "\ude42b", "well-formed"],
    ["a pair the wrong way round", "\ude42\ud83d", "well-formed"],
  ])("%s", (_, text, message) => {
    expect(firmwareHazards({ a: text })).toEqual([{ path: "/a", message: expect.stringContaining(message) }]);
  });

  test.each([
    ["a NUL, where it would become another argument", "volume\u0000x", "NUL"],
    ["half a pair", "\ud83d", "well-formed"],
  ])("also as the name of an argument: %s", (_, name, message) => {
    expect(firmwareHazards({ [name]: 1 })).toEqual([
      { path: `/${name}`, message: expect.stringContaining(message) },
    ]);
  });
});

describe("numbers that a device would change", () => {
  test.each([MAX + 1, MIN - 1, 1_758_893_424_665, Number.MAX_SAFE_INTEGER, 1e300, -1e300])("%d", (number) => {
    expect(firmwareHazards({ n: number })).toEqual([
      { path: "/n", message: expect.stringContaining("32-bit") },
    ]);
  });

  test.each(["1e400", "-1e400"])("%s, which would be sent as null", (text) => {
    expect(firmwareHazards(JSON.parse(`{"n":${text}}`))).toEqual([
      { path: "/n", message: expect.stringContaining("32-bit") },
    ]);
  });
});

describe("nesting", () => {
  const deepest = limits.callArgumentDepth.max;

  it("is allowed up to the bound", () => {
    expect(firmwareHazards(wrapped(deepest, 1))).toEqual([]);
  });

  it("is reported at the level where it becomes too deep", () => {
    expect(firmwareHazards(wrapped(deepest + 1, 1))).toEqual([
      { path: "/0".repeat(deepest + 1), message: expect.stringContaining("too deeply") },
    ]);
  });

  it("is not checked any deeper", () => {
    const bottomless: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(firmwareHazards(bottomless)).toHaveLength(1);
  });
});

describe("the path is a JSON pointer", () => {
  test.each([
    ["\u0000", ""],
    [{ a: { b: "\u0000" } }, "/a/b"],
    [{ a: [0, "\u0000"] }, "/a/1"],
    [{ "a/b": "\u0000" }, "/a~1b"],
    [{ "a~b": "\u0000" }, "/a~0b"],
    [{ "~1": "\u0000" }, "/~01"],
    [{ "": "\u0000" }, "/"],
    [{ "a b": "\u0000" }, "/a b"],
  ])("%j", (value, path) => {
    expect(firmwareHazards(value).map((problem) => problem.path)).toEqual([path]);
  });

  it("is given for every problem, not only the first", () => {
    const problems = firmwareHazards({ a: "\u0000", b: [MAX + 1, 1, "\ud800"], c: 1 });
    expect(problems.map((problem) => problem.path)).toEqual(["/a", "/b/0", "/b/2"]);
  });
});

it("reports nothing for any well-formed values without NUL and large numbers", () => {
  const word = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\u0000"));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.integer({ min: MIN, max: MAX }),
      fc.boolean(),
      word,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(word, tie("value"), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(value, (sound) => {
      expect(firmwareHazards(sound)).toEqual([]);
    }),
  );
});

describe("names that differ only in case", () => {
  it("are rejected, because a device uses the first of them", () => {
    expect(firmwareHazards({ URL: "http://evil.test", url: "http://good.test" })).toEqual([
      { path: "/url", message: "is given twice; devices ignore case in names" },
    ]);
  });

  it("may repeat in different objects", () => {
    expect(firmwareHazards({ a: { volume: 1 }, b: { volume: 1 } })).toEqual([]);
  });
});
