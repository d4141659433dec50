import {
  isObject,
  limits,
  type ObjectSchema,
  pointerPart,
  repairTool,
  SchemaValidator,
} from "@tendon/protocol";
import { describe, expect, it, test } from "vitest";
import { nested, readFixture } from "../read-fixture.ts";

/** Repairs the schema through its tool, as the gateway does. */
function repair(inputSchema: unknown) {
  const repaired = repairTool({ name: "t", inputSchema }, false);
  if (!repaired.ok) throw new TypeError(`set aside: ${repaired.setAside.reason}`);
  return { schema: repaired.tool.inputSchema, repairs: repaired.tool.repairs };
}

function reasonSetAside(inputSchema: unknown): string | undefined {
  const repaired = repairTool({ name: "t", inputSchema }, false);
  return repaired.ok ? undefined : repaired.setAside.reason;
}

function property(schema: unknown) {
  const repaired = repair({ type: "object", properties: { p: schema } });
  const { properties } = repaired.schema;
  return { schema: isObject(properties) ? properties["p"] : undefined, repairs: repaired.repairs };
}

interface RecordedTool {
  readonly inputSchema: unknown;
}

function accepts(schema: ObjectSchema, value: unknown): boolean {
  return new SchemaValidator(schema).problems(value).length === 0;
}

describe("a valid schema", () => {
  test.each([
    { type: "object", properties: {} },
    {
      type: "object",
      properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
      required: ["volume"],
    },
    { type: "object", properties: { a: { type: ["string", "null"], default: null, enum: ["x", null] } } },
    {
      type: "object",
      properties: { a: { type: "array", items: { type: "string", format: "uri" }, minItems: 1 } },
    },
    { type: "object", properties: { a: { anyOf: [{ const: 1 }, { type: "object", properties: {} }] } } },
    { type: "object", properties: { "a/b~c": { title: "t", description: "d", examples: [1] } } },
    { type: "object", properties: { a: {}, b: {} }, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    { type: "object", properties: { a: { not: { type: "null" } } }, additionalProperties: false },
    { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$", format: "URI" } } },
    { type: "object", properties: {}, patternProperties: { "^x-": { type: "string" } } },
    { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $anchor: "a", enum: ["x"] } } },
    { type: "object", properties: { a: { $ref: "#/definitions/a" } }, definitions: { a: { $ref: "#" } } },
  ])("is unchanged: %j", (schema) => {
    expect(repair(schema)).toEqual({ schema, repairs: [] });
  });

  it("is in every recorded tool of the firmware", () => {
    const replies = readFixture<{ readonly payload: string }>("replies").map(
      (row) => JSON.parse(row.payload) as { readonly result?: { readonly tools?: readonly RecordedTool[] } },
    );
    const tools = replies.flatMap((reply) => reply.result?.tools ?? []);
    expect(tools.length).toBeGreaterThan(5);
    for (const { inputSchema } of tools)
      expect(repair(inputSchema)).toEqual({ schema: inputSchema, repairs: [] });
  });
});

describe("a schema that can be repaired", () => {
  test.each([
    ["that is missing takes no arguments", undefined],
    ["that is null takes no arguments", null],
  ])("%s", (_, schema) => {
    expect(repair(schema)).toEqual({
      schema: { type: "object", properties: {} },
      repairs: [expect.stringContaining("no schema")],
    });
  });

  test.each([[undefined], [true], [null], [["object", "null"]], [5]])(
    "of type %j becomes an object",
    (type) => {
      const { schema, repairs } = repair({ type, properties: { a: { type: "string" } } });
      expect(schema).toEqual({ type: "object", properties: { a: { type: "string" } } });
      expect(repairs).toEqual([expect.stringContaining("taken as object")]);
    },
  );

  test.each([[[]], ["x"], [null], [5], [true]])("whose properties are %j has none", (properties) => {
    expect(repair({ type: "object", properties })).toEqual({
      schema: { type: "object", properties: {} },
      repairs: [expect.stringContaining("/properties dropped")],
    });
  });

  test.each([
    ["names what does not exist", ["a", "b"], ["a"]],
    ["names what every object inherits", ["a", "toString"], ["a"]],
    ["holds what is no name", ["a", 5, null, ["a"]], ["a"]],
    ["is no list", "a", undefined],
    ["is true, as in old drafts", true, undefined],
    ["is null", null, undefined],
  ])("whose required %s loses only that", (_, required, kept) => {
    const { schema, repairs } = repair({ type: "object", properties: { a: {} }, required });
    expect(schema).toEqual({ type: "object", properties: { a: {} }, ...(kept && { required: kept }) });
    expect(repairs).toEqual([expect.stringContaining("/required")]);
  });

  test.each([[true], ["text"], ["any"], [null], [{}], [[]], [["string", "any"]], [[1]]])(
    "with a property of type %j accepts any value there",
    (type) => {
      const { schema, repairs } = property({ type, description: "d" });
      expect(schema).toEqual({ description: "d" });
      expect(repairs).toEqual(["/properties/p/type dropped: not a JSON Schema type"]);
    },
  );

  test.each([[true], ["string"], [null], [5], [["string"]]])(
    "with the property %j accepts any value there",
    (junk) => {
      expect(property(junk)).toEqual({
        schema: {},
        repairs: [expect.stringContaining("/properties/p was not a schema")],
      });
    },
  );

  it("with a minimum above its maximum loses both", () => {
    const { schema, repairs } = property({ type: "integer", minimum: 10, maximum: 1 });
    expect(schema).toEqual({ type: "integer" });
    expect(repairs).toHaveLength(2);
  });

  test.each([
    ["minimum", "0"],
    ["maximum", null],
    ["exclusiveMinimum", true],
    ["multipleOf", "2"],
    ["minLength", {}],
    ["maxLength", [1]],
    ["minItems", "1"],
    ["maxItems", Number.POSITIVE_INFINITY],
    ["maxProperties", false],
    ["enum", "a"],
    ["enum", []],
    ["enum", { a: 1 }],
    ["examples", {}],
    ["uniqueItems", 1],
    ["title", 5],
    ["description", { en: "d" }],
    ["format", 5],
    ["format", "__proto__"],
    ["format", "a b"],
    ["pattern", 5],
    ["pattern", "a\u202eb"],
    ["$anchor", "#a"],
    ["$ref", 5],
    ["$ref", "https://example.com/schema"],
    ["$ref", "other.json#/a"],
    ["$ref", "#/$defs/none"],
    ["$ref", "#none"],
    ["$defs", 5],
    ["items", 5],
    ["items", [{ type: "string" }]],
    ["additionalProperties", "no"],
    ["not", []],
    ["anyOf", {}],
    ["oneOf", []],
    ["allOf", "x"],
  ])("loses %s when it is %j", (keyword, value) => {
    const { schema, repairs } = property({ type: "array", [keyword]: value });
    expect(schema).toEqual({ type: "array" });
    expect(repairs).toEqual([expect.stringContaining(`/properties/p/${keyword} dropped`)]);
  });

  it("is repaired at all levels, and reports the locations", () => {
    const { schema, repairs } = property({
      type: "array",
      items: { type: "object", properties: { "a/b": { type: "int" } } },
    });
    expect(schema).toEqual({ type: "array", items: { type: "object", properties: { "a/b": {} } } });
    expect(repairs).toEqual(["/properties/p/items/properties/a~1b/type dropped: not a JSON Schema type"]);
  });
});

describe("references", () => {
  test.each([
    ["a default that looks like a schema", { default: { pattern: 5 } }, "#/properties/a/default"],
    ["a choice that looks like a schema", { enum: [{ required: 5 }] }, "#/properties/a/enum/0"],
    ["no schema but a map of them", {}, "#/properties"],
    ["what every object inherits", {}, "#/properties/toString"],
  ])("are dropped when they point to %s", (_, target, $ref) => {
    const { schema, repairs } = repair({ type: "object", properties: { a: target, b: { $ref } } });
    expect(schema).toEqual({ type: "object", properties: { a: target, b: {} } });
    expect(repairs).toEqual(["/properties/b/$ref dropped: it leads nowhere"]);
  });

  it("are dropped with their targets", () => {
    const { schema, repairs } = repair({
      type: "object",
      properties: { a: { $ref: "#/properties/b/not" }, b: { not: { $id: "x" } } },
    });
    expect(schema).toEqual({ type: "object", properties: { a: {}, b: {} } });
    expect(repairs.at(-1)).toBe("/properties/a/$ref dropped: it leads nowhere");
  });

  it("add properties that can be required", () => {
    const schema = { type: "object", properties: {}, $ref: "#/$defs/a", required: ["x"], $defs: { a: {} } };
    expect(repair(schema)).toEqual({ schema, repairs: [] });
  });
});

describe("keywords that could make a validator fetch, recurse, throw or run forever", () => {
  const dangerous = {
    $ref: "https://example.com/schema",
    $dynamicRef: "#x",
    $recursiveRef: "#",
    $id: "::",
    id: "http://[",
    dependentRequired: { a: 5 },
    dependentSchemas: { a: { pattern: "x" } },
    dependencies: { a: 5 },
    "x-unit": { id: "http://[" },
    __absolute_uri__: "x",
  };
  const places: readonly [string, (node: object) => object][] = [
    ["at the top", (node) => ({ ...node })],
    ["in a property", (node) => ({ properties: { p: node } })],
    ["in items", (node) => ({ properties: { p: { items: node } } })],
    ["in prefixItems", (node) => ({ properties: { p: { prefixItems: [node] } } })],
    ["in contains", (node) => ({ properties: { p: { contains: node } } })],
    ["in additionalProperties", (node) => ({ additionalProperties: node })],
    ["in propertyNames", (node) => ({ propertyNames: node })],
    ["in anyOf", (node) => ({ anyOf: [node] })],
    ["in allOf", (node) => ({ allOf: [node] })],
    ["in oneOf", (node) => ({ oneOf: [node] })],
    ["in not", (node) => ({ not: node })],
    ["in if", (node) => ({ if: node })],
    ["in else", (node) => ({ if: false, else: node })],
  ];

  test.each(places)("are removed %s", (_, at) => {
    for (const [keyword, value] of Object.entries(dangerous)) {
      const { schema, repairs } = repair({ type: "object", ...at({ [keyword]: value }) });
      expect(JSON.stringify(schema)).not.toContain(JSON.stringify(keyword));
      expect(repairs).toContainEqual(expect.stringContaining(`/${keyword} dropped`));
      expect(accepts(schema, {})).toBe(true);
    }
  });

  it("are removed when the schema inherits them", () => {
    const raw: unknown = JSON.parse(
      '{"type":"object","properties":{"p":{"type":"string","__proto__":{"const":"z"}}}}',
    );
    const { schema, repairs } = repair(raw);
    expect(accepts(schema, { p: "anything" })).toBe(true);
    expect(repairs).toEqual([expect.stringContaining("/properties/p/__proto__ dropped")]);
  });

  test.each([["not"], ["if"]])("are removed together with %s, whose meaning would change", (keyword) => {
    const { schema } = repair({ type: "object", [keyword]: { properties: { p: { $id: "x" } } } });
    expect(schema).toEqual({ type: "object", properties: {} });
  });

  it("are removed together with oneOf, because two empty branches would reject everything", () => {
    const { schema } = repair({ type: "object", oneOf: [{ $ref: "#/a" }, { $ref: "#/b" }] });
    expect(accepts(schema, { a: 1 })).toBe(true);
  });
});

describe("an impossible argument name", () => {
  test.each(["constructor", "toString", "hasOwnProperty", "__proto__", "\ud800"])("%j is dropped", (name) => {
    const properties = JSON.parse(
      `{${JSON.stringify(name)}:{"type":"string"},"a":{"type":"string"}}`,
    ) as unknown;
    const { schema, repairs } = repair({ type: "object", properties, required: [name, "a"] });
    expect(schema).toEqual({ type: "object", properties: { a: { type: "string" } }, required: ["a"] });
    expect(repairs).toContainEqual(expect.stringContaining("no argument can have this name"));
    expect(accepts(schema, { a: "x" })).toBe(true);
  });
});

describe("a schema that cannot be repaired sets its tool aside with the reason", () => {
  function chain(levels: number): object {
    return levels === 0 ? {} : { items: chain(levels - 1) };
  }
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, { type: "string" }]));

  test.each([
    ["is text", "object", "not an object"],
    ["is a list", [], "not an object"],
    ["is true", true, "not an object"],
    ["is of type string", { type: "string" }, "of type string"],
    ["is of type array", { type: "array", items: {} }, "of type array"],
    [
      "is larger than the bound",
      { type: "object", description: "x".repeat(limits.toolSchemaBytes.max) },
      "larger than",
    ],
    ["is nested one too deep", { properties: { p: chain(limits.toolSchemaDepth.max) } }, "nested deeper"],
    [
      "is nested 10,000 deep",
      JSON.parse(nested(10_000, '{"items":', "}").replace('{"items":}', "{}")),
      "nested deeper",
    ],
    ["has a default nested 50,000 deep", { default: JSON.parse(nested(50_000)) as unknown }, "nested deeper"],
    ["has one argument too many", { properties: many(limits.toolSchemaProperties.max + 1) }, "more than"],
  ])("because it %s", (_, schema, reason) => {
    expect(reasonSetAside(schema)).toContain(reason);
  });

  test.each([
    ["the deepest schema", { properties: { p: chain(limits.toolSchemaDepth.max - 1) } }],
    ["the most arguments", { properties: many(limits.toolSchemaProperties.max) }],
  ])("but not for %s within the bound", (_, schema) => {
    expect(reasonSetAside(schema)).toBeUndefined();
  });
});

describe("a part of a JSON pointer", () => {
  test.each([
    ["a", "a"],
    ["", ""],
    ["a/b", "a~1b"],
    ["m~n", "m~0n"],
    ["~1", "~01"],
    ["/~/", "~1~0~1"],
  ])("%j is written %j", (name, part) => {
    expect(pointerPart(name)).toBe(part);
  });
});
