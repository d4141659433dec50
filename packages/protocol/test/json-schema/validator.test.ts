import { type JsonObject, limits, pointerPart, SchemaValidator } from "@tendon/protocol";
import { describe, expect, it, test } from "vitest";

function problems(schema: JsonObject, value: unknown) {
  return new SchemaValidator(schema).problems(value).map(({ path, message }) => `${path} ${message}`);
}

function fits(schema: JsonObject, value: unknown): boolean {
  return problems(schema, value).length === 0;
}

/** Computed, because an object literal with a `then` looks like a promise. */
function keyed(keyword: string, value: unknown): JsonObject {
  return { [keyword]: value };
}

function when(condition: JsonObject, fulfilled: JsonObject, otherwise: JsonObject = {}): JsonObject {
  return { if: condition, else: otherwise, ...keyed("then", fulfilled) };
}

const argumentsOf = (properties: JsonObject, more: JsonObject = {}) => ({
  type: "object",
  properties,
  ...more,
});

describe("[MCP-9] problem messages", () => {
  test.each<[JsonObject, unknown, string[]]>([
    [argumentsOf({ a: { type: "integer" } }), { a: "x" }, ["/a must be an integer"]],
    [argumentsOf({ a: { type: ["string", "null"] } }), { a: 1 }, ["/a must be a string or null"]],
    [argumentsOf({ a: { minimum: 1 } }), { a: 0 }, ["/a must be at least 1"]],
    [argumentsOf({ a: { exclusiveMaximum: 1 } }), { a: 1 }, ["/a must be less than 1"]],
    [argumentsOf({ a: { multipleOf: 0.1 } }), { a: 0.25 }, ["/a must be a multiple of 0.1"]],
    [argumentsOf({ a: { minLength: 2 } }), { a: "😀" }, ["/a must have at least 2 characters"]],
    [argumentsOf({ a: { maxItems: 1 } }), { a: [1, 2] }, ["/a must have at most 1 item"]],
    [
      argumentsOf({ a: { uniqueItems: true } }),
      {
        a: [
          { b: 1, c: 2 },
          { c: 2, b: 1 },
        ],
      },
      ["/a must not have the same item twice"],
    ],
    [argumentsOf({ a: { enum: ["x", 1] } }), { a: "y" }, ['/a must be one of "x", 1']],
    [argumentsOf({ a: { const: null } }), { a: 0 }, ["/a must be null"]],
    [argumentsOf({}, { required: ["a", "b/c"] }), {}, ["/a is required", "/b~1c is required"]],
    [
      argumentsOf({ a: {} }, { additionalProperties: false }),
      { volume: 5 },
      ["/volume is not an argument of this tool"],
    ],
    [argumentsOf({ a: { additionalProperties: false } }), { a: { b: 1 } }, ["/a/b is not accepted here"]],
    [argumentsOf({ a: { items: false } }), { a: [1] }, ["/a/0 is not accepted"]],
    [
      argumentsOf({ a: { propertyNames: { maxLength: 1 } } }),
      { a: { bb: 1 } },
      ["/a/bb has a name that is not accepted"],
    ],
    [argumentsOf({ a: { not: { const: 1 } } }), { a: 1 }, ["/a has a form that is not accepted"]],
    [
      argumentsOf({ a: { contains: { const: 1 }, minContains: 2 } }),
      { a: [1] },
      ["/a must contain at least 2 fitting items"],
    ],
    [
      argumentsOf({ a: { anyOf: [{ type: "integer" }, { type: "null" }] } }),
      { a: "x" },
      ["/a must be an integer or null"],
    ],
    [
      argumentsOf({ a: { anyOf: [{ const: "on" }, { const: "off" }] } }),
      { a: "x" },
      ['/a must be one of "on", "off"'],
    ],
    [
      argumentsOf({ a: { anyOf: [{ type: "integer", minimum: 5 }, { type: "null" }] } }),
      { a: 1 },
      ["/a must be at least 5"],
    ],
    [argumentsOf({ a: { anyOf: [{ type: "string", enum: ["x"] }, { minimum: 5 }] } }), { a: "y" }, []],
    [
      argumentsOf({ a: { oneOf: [{ minimum: 0 }, { maximum: 9 }] } }),
      { a: 5 },
      ["/a fits more than one of the forms of which it must have one"],
    ],
    [
      argumentsOf({ a: { allOf: [{ type: "string" }, { type: "string" }] } }),
      { a: 5 },
      ["/a must be a string"],
    ],
    [argumentsOf({ a: {} }, when({ required: ["a"] }, { required: ["b"] })), { a: 5 }, ["/b is required"]],
  ])("%j of %j: %j", (schema, value, messages) => {
    expect(problems(schema, value)).toEqual(messages);
  });

  it("contain names unchanged, whatever their characters", () => {
    const names = ["a%b", "%41", "%zz", "a/b", "~1", "a b", "é", "#", "?", "items", "properties", "$ref"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const given = Object.fromEntries(names.map((name) => [name, 1]));
    const messages = names.map((name) => `/${pointerPart(name)} must be a string`);
    expect(problems(argumentsOf(properties), given)).toEqual(messages);
    expect(problems({ type: "object", additionalProperties: { type: "string" } }, given)).toEqual(messages);
    expect(problems(argumentsOf({ "%41": { required: ["a%b"] } }), { "%41": {} })).toEqual([
      "/%41/a%b is required",
    ]);
    expect(problems({ type: "object", additionalProperties: { type: "string" } }, { "\ud800": 1 })).toEqual([
      " do not fit the schema",
    ]);
  });

  it("are limited to twenty", () => {
    const schema = argumentsOf({ a: { items: { type: "string" } } });
    expect(problems(schema, { a: Array.from({ length: 1_000 }, () => 1) })).toHaveLength(20);
  });
});

describe("[MCP-14] formats", () => {
  test.each([
    [
      "date-time",
      ["2026-01-31T12:00:00Z", "2024-02-29t23:59:60.25+05:30"],
      ["2026-02-29T12:00:00Z", "2026-01-31", "2026-01-31T12:00:00", "x"],
    ],
    ["date", ["2026-01-31", "2000-02-29"], ["2026-13-01", "1900-02-29", "26-01-01", "2026-01-00"]],
    ["time", ["12:00:00Z", "00:00:00.1-00:30"], ["24:00:00Z", "12:00Z", "12:00:00"]],
    [
      "email",
      ["a@b.example", '"a b"@b.example', "a+b@[127.0.0.1]", "a@[IPv6:::1]"],
      ["a", "@b", "a@", ".a@b", "a b@c", "a@b_c", `${"a".repeat(65)}@b`],
    ],
    [
      "hostname",
      ["a", "a-b.example", "1.2.3.4"],
      ["", "-a", "a-", "a..b", "a_b", `${"a".repeat(64)}`, "a.".repeat(200)],
    ],
    ["ipv4", ["0.0.0.0", "255.255.255.255"], ["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4."]],
    [
      "ipv6",
      ["::", "::1", "1::", "2001:db8::1:2", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
      ["", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8::", "1.2.3.4::", "g::"],
    ],
    [
      "uuid",
      ["8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01", "8D0F1C52-3A57-4F3B-9A8E-0C6F3C1C0A01"],
      ["8d0f1c523a574f3b9a8e0c6f3c1c0a01", ""],
    ],
    [
      "uri",
      ["https://a.example/b?c#d", "urn:a:b", "mailto:a@b", "http://[::1]/%20", "https://a.example/é"],
      ["", "a", "/a", "//a", "http:", "http://a b", "http://a/%zz", "1a:b", "http://a\\b"],
    ],
    ["URL", ["https://a.example"], ["a.example"]],
    ["Date-Time", ["2026-01-31T12:00:00Z"], ["today"]],
  ])("%s", (format, good, bad) => {
    const schema = argumentsOf({ a: { type: "string", format } });
    expect(good.filter((text) => !fits(schema, { a: text }))).toEqual([]);
    expect(bad.filter((text) => fits(schema, { a: text }))).toEqual([]);
    expect(fits(argumentsOf({ a: { format } }), { a: 5 })).toBe(true);
  });

  test.each([
    "regex",
    "uri-reference",
    "json-pointer",
    "duration",
    "uri-template",
    "iri",
    "x-unit",
    "toString",
  ])("%s is not evaluated", (format) => {
    expect(fits(argumentsOf({ a: { format } }), { a: "(((" })).toBe(true);
  });
});

describe("[MCP-14] keywords that are not evaluated reject nothing", () => {
  const expression = { type: "string", pattern: "^(a+)+$" };
  test.each<[string, JsonObject]>([
    ["pattern", expression],
    ["pattern under not", { not: expression }],
    ["pattern under not not", { not: { not: expression } }],
    ["pattern in both of oneOf", { oneOf: [expression, { pattern: "b" }] }],
    ["pattern beside a fitting form of oneOf", { oneOf: [expression, { const: "b" }] }],
    ["pattern under if", when(expression, { const: "b" }, { const: "c" })],
    ["a format under not", { not: { format: "regex" } }],
    ["a reference that leads nowhere", { $ref: "#/$defs/none" }],
    ["a reference to itself", { $ref: "#/properties/a" }],
    ["a reference to itself under not", { not: { $ref: "#/properties/a" } }],
    [
      "references in a circle",
      { allOf: [{ $ref: "#/properties/a/anyOf/0" }], anyOf: [{ $ref: "#/properties/a" }] },
    ],
    ["a reference to a pattern, under not", { not: { $ref: "#/$defs/expression" } }],
    ["a pattern below a member, under oneOf", { oneOf: [{ items: expression }, {}] }],
    ["propertyNames", { propertyNames: expression }],
  ])("%s", (_, a) => {
    const value = a["propertyNames"] === undefined ? "b" : { b: 1 };
    expect(problems(argumentsOf({ a }, { $defs: { expression } }), { a: value })).toEqual([]);
  });

  it("together with keywords that count their matches", () => {
    const schema = argumentsOf({ a: { contains: expression, maxContains: 1 } });
    expect(fits(schema, { a: ["b", "c"] })).toBe(true);
    expect(fits(schema, { a: [1, 2] })).toBe(false);
  });

  it("while all other keywords are evaluated", () => {
    expect(fits(argumentsOf({ a: expression }), { a: 5 })).toBe(false);
    expect(fits(argumentsOf({ a: { allOf: [expression, { maxLength: 3 }] } }), { a: "aaaa" })).toBe(false);
    const both = when(expression, { const: "b" }, { const: "b" });
    expect(fits(argumentsOf({ a: both }), { a: "c" })).toBe(false);
  });

  it("and expressions for names allow any name without hiding other problems", () => {
    const schema = argumentsOf(
      { a: { type: "string" } },
      { patternProperties: { "^x-": { type: "integer" } }, additionalProperties: false, maxProperties: 2 },
    );
    expect(fits(schema, { "x-b": "any", c: 1 })).toBe(true);
    expect(fits(schema, { a: 1 })).toBe(false);
    expect(fits(schema, { a: "b", c: 1, d: 1 })).toBe(false);
  });
});

describe("references", () => {
  const node = {
    type: "object",
    properties: { value: { type: "integer" }, next: { $ref: "#/$defs/node" } },
    required: ["value"],
  };
  const schema = argumentsOf(
    {
      list: { $ref: "#/$defs/node" },
      colour: { $ref: "#colour", maxLength: 3 },
      same: { $ref: "#/properties/colour" },
    },
    { $defs: { node, "a/b": { $anchor: "colour", enum: ["red", "green"] } } },
  );

  test.each<[unknown, string[]]>([
    [{ list: { value: 1, next: { value: 2 } }, colour: "red" }, []],
    [{ list: { value: 1, next: { value: "2" } } }, ["/list/next/value must be an integer"]],
    [{ list: { value: 1, next: {} } }, ["/list/next/value is required"]],
    [{ colour: "blue" }, ['/colour must be one of "red", "green"', "/colour must have at most 3 characters"]],
    [{ same: "green" }, ["/same must have at most 3 characters"]],
  ])("%j", (value, messages) => {
    expect(problems(schema, value)).toEqual(messages);
  });
});

describe("[MCP-15] a check that would take too long", () => {
  const tooComplex = [" are too complex to check"];
  const many = <Item>(count: number, item: (index: number) => Item) =>
    Array.from({ length: count }, (_, index) => item(index));
  const doubling = Object.fromEntries(
    many(30, (at) => [`d${at}`, { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] }]),
  );
  const tripling = Object.fromEntries(
    many(30, (at) => {
      const next = { $ref: `#/$defs/c${at + 1}` };
      return [`c${at}`, when(next, next, next)];
    }),
  );
  test.each<[string, JsonObject, unknown]>([
    [
      "a thousand schemas for each item",
      { items: { allOf: many(1_000, () => ({ type: "integer" })) } },
      many(20_000, () => 1),
    ],
    [
      "a thousand alternatives for each item",
      { items: { anyOf: many(1_000, (at) => ({ const: at })) } },
      many(20_000, () => 999),
    ],
    ["references that double", { $ref: "#/$defs/d0" }, 1],
    ["references that double, for a long list", { $ref: "#/$defs/d0" }, many(32_000, () => 1)],
    ["conditions that triple, for a long list", { $ref: "#/$defs/c0" }, many(32_000, () => 1)],
    [
      "choices of objects in many branches",
      { anyOf: many(500, () => ({ enum: [{ a: 1 }] })) },
      many(5_000, () => ({ a: 1 })),
    ],
    [
      "repeats looked for many times",
      { allOf: many(500, () => ({ uniqueItems: true })) },
      many(5_000, (at) => at),
    ],
    ["a long text measured many times", { allOf: many(1_000, () => ({ minLength: 1 })) }, "x".repeat(60_000)],
  ])("is rejected: %s", (_, a, value) => {
    expect(problems(argumentsOf({ a }, { $defs: { ...doubling, ...tripling } }), { a: value })).toEqual(
      tooComplex,
    );
  });

  it("does not include large arguments for an ordinary schema", () => {
    const numbers = JSON.stringify(many(32_000, () => 1)).length;
    expect(numbers).toBeLessThan(limits.callArgumentBytes.max);
    const list = (items: JsonObject) => argumentsOf({ a: { type: "array", items } });
    expect(problems(list({ type: "integer" }), { a: many(32_000, () => 1) })).toEqual([]);
    const alternatives = { anyOf: [{ type: "string" }, { type: "integer", minimum: 0 }] };
    expect(problems(list(alternatives), { a: many(12_000, () => 1) })).toEqual([]);
    const point = argumentsOf({ x: { type: "number" }, y: { type: "number" } }, { required: ["x", "y"] });
    expect(problems(list(point), { a: many(4_000, (at) => ({ x: at, y: at })) })).toEqual([]);
    const unique = argumentsOf({ a: { type: "array", uniqueItems: true } });
    expect(problems(unique, { a: many(800, (at) => at) })).toEqual([]);
  });

  it("does not include a thousand failing schemas: the first problem is reported", () => {
    const schema = argumentsOf({ a: { items: { allOf: many(1_000, () => ({ type: "string" })) } } });
    expect(problems(schema, { a: many(30, () => 1) })).toEqual(["/a/0 must be a string"]);
  });

  it("never overflows the stack, because nested references and arguments are counted", () => {
    const chain = Object.fromEntries(many(400, (at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]));
    const schema = argumentsOf({ a: { $ref: "#/$defs/d0" } }, { $defs: { ...chain, d400: {} } });
    expect(problems(schema, { a: 1 })).toEqual(tooComplex);
  });
});
