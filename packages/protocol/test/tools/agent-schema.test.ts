import {
  agentLimits,
  agentSchema,
  isObject,
  type JsonObject,
  limits,
  repairTool,
  SchemaValidator,
} from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { vendors } from "./vendor-rules.ts";

function repaired(inputSchema: unknown) {
  const outcome = repairTool({ name: "t", inputSchema }, false);
  if (!outcome.ok) throw new TypeError(outcome.setAside.reason);
  return outcome.tool.inputSchema;
}

function plain(inputSchema: unknown): JsonObject {
  return agentSchema(repaired(inputSchema));
}

function argument(schema: unknown): unknown {
  const { properties } = plain({ type: "object", properties: { p: schema } });
  return isObject(properties) ? properties["p"] : undefined;
}

function complaints(schema: JsonObject): string[] {
  return Object.entries(vendors).flatMap(([vendor, rules]) =>
    rules(schema).map((complaint) => `${vendor}: ${complaint}`),
  );
}

/** Schemas that some vendor rejects, with arguments that must still be accepted. */
const refused: readonly (readonly [string, JsonObject, JsonObject])[] = [
  ["nothing in it", {}, {}],
  ["a type array", { properties: { a: { type: ["integer", "null"] } } }, { a: 1 }],
  ["a union of types", { properties: { a: { type: ["string", "integer"] } } }, { a: "x" }],
  ["an array without items", { properties: { a: { type: "array" } } }, { a: ["x"] }],
  ["a tuple", { properties: { a: { type: "array", prefixItems: [{ type: "number" }] } } }, { a: [1] }],
  ["items that are true", { properties: { a: { type: "array", items: true } } }, { a: ["x"] }],
  ["an argument without type", { properties: { a: { description: "any" } } }, { a: "x" }],
  ["choices of numbers", { properties: { a: { type: "integer", enum: [1, 2, 5] } } }, { a: 5 }],
  ["choices without type", { properties: { a: { enum: ["x", "y"] } } }, { a: "y" }],
  ["an empty choice", { properties: { a: { type: "string", enum: ["", "x"] } } }, { a: "x" }],
  ["a constant", { properties: { a: { const: "x" } } }, { a: "x" }],
  ["a format", { properties: { a: { type: "string", format: "uri" } } }, { a: "https://x.example" }],
  ["exclusive bounds", { properties: { a: { type: "integer", exclusiveMinimum: 0 } } }, { a: 1 }],
  [
    "no further properties",
    { properties: { a: { type: "string" } }, additionalProperties: false },
    { a: "x" },
  ],
  [
    "examples and titles",
    { title: "T", properties: { a: { type: "string", title: "A", examples: ["x"] } } },
    { a: "x" },
  ],
  ["anyOf with null", { properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } }, { a: "x" }],
  [
    "oneOf of objects at the top",
    {
      properties: { a: { type: "string" }, b: { type: "string" } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    { a: "x" },
  ],
  [
    "anyOf of shapes",
    {
      properties: {
        to: {
          anyOf: [
            {
              type: "object",
              properties: { kind: { const: "room" }, room: { type: "string" } },
              required: ["kind", "room"],
            },
            { type: "object", properties: { kind: { const: "all" } }, required: ["kind"] },
          ],
        },
      },
    },
    { to: { kind: "room", room: "x" } },
  ],
  ["allOf", { properties: { a: { allOf: [{ type: "integer", minimum: 0 }, { maximum: 10 }] } } }, { a: 10 }],
  [
    "not, if, else",
    { properties: { a: { type: "string", not: { const: "z" } } }, if: { required: ["a"] }, else: {} },
    { a: "x" },
  ],
  ["a reference", { properties: { a: { $ref: "#/$defs/x" } }, $defs: { x: { type: "string" } } }, { a: "x" }],
  [
    "a name in Chinese",
    { properties: { 音量: { type: "integer" }, b: { type: "string" } }, required: ["音量"] },
    { 音量: 5 },
  ],
  ["a name with spaces", { properties: { "the level": { type: "integer" } } }, { "the level": 1 }],
  [
    "an argument that can only be null",
    { properties: { a: { type: "null" }, b: { type: "string" } } },
    { b: "x" },
  ],
  ["x-mcp-header", { properties: { a: { type: "string", "x-mcp-header": "Region" } } }, { a: "x" }],
];

describe("[AGT-9] the schema for agents", () => {
  test.each(refused)("is accepted by every vendor when the device's schema has %s", (_, schema, args) => {
    const own = repaired({ type: "object", ...schema });
    const shown = agentSchema(own);
    expect(complaints(shown)).toEqual([]);
    for (const each of [own, shown]) {
      expect(new SchemaValidator(each).problems(args)).toEqual([]);
    }
  });

  it("is checked by rules that reject the original", () => {
    expect(complaints({ type: "object", anyOf: [] })).toEqual([
      "openAi: the top has anyOf",
      "openAi:  has no properties",
      "anthropic: the top has anyOf",
      "gemini:  has anyOf",
    ]);
  });

  test.each<[string, unknown, unknown]>([
    ["a range", { type: "integer", minimum: 0, maximum: 100 }, { type: "integer", minimum: 0, maximum: 100 }],
    ["a default", { type: "boolean", default: true }, { type: "boolean", default: true }],
    ["choices", { type: "string", enum: ["a", "b"] }, { type: "string", enum: ["a", "b"] }],
    [
      "what else is taken",
      { type: ["string", "number"] },
      { type: "string", description: "Also takes: number." },
    ],
    ["numbers to choose from", { enum: [1, 2] }, { type: "number", description: "One of: 1, 2." }],
    ["a format", { type: "string", format: "uri" }, { type: "string", description: "Format: uri." }],
    ["a time", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
    [
      "both kinds of bounds",
      { type: "integer", exclusiveMinimum: 0, maximum: 9, exclusiveMaximum: 9 },
      { type: "integer", minimum: 1, maximum: 8 },
    ],
    ["steps", { type: "integer", multipleOf: 5 }, { type: "integer", description: "A multiple of 5." }],
    [
      "constants as choices",
      { oneOf: [{ const: "on", description: "lit" }, { const: "off" }] },
      { type: "string", enum: ["on", "off"] },
    ],
    [
      "a title where nothing else is said",
      { type: "string", title: "Room" },
      { type: "string", description: "Room" },
    ],
  ])("keeps %s", (_, schema, shown) => {
    expect(argument(schema)).toEqual(shown);
  });

  it("describes arguments whose names are not allowed in it", () => {
    expect(plain({ type: "object", properties: { 音量: { type: "integer" } }, required: ["音量"] })).toEqual({
      type: "object",
      description: "Needs `音量` (integer).",
      properties: {},
    });
  });

  it("[AGT-7] has no enum value, default or text with hidden characters", () => {
    expect(
      argument({ type: "string", enum: ["on\u200B", "off"], default: "on\u200B", description: "a\u202Eb" }),
    ).toEqual({
      type: "string",
      description: "ab",
      enum: ["off"],
    });
  });

  it("stays within its bounds of depth, length and size", () => {
    let deep: JsonObject = { type: "string" };
    for (let level = 0; level < 6; level += 1) deep = { type: "object", properties: { d: deep } };
    const text = JSON.stringify(plain(deep));
    expect(text.split('"d"').length - 1).toBe(agentLimits.schemaDepth.max);
    const many = Array.from({ length: limits.toolSchemaProperties.max }, (_, index) => [
      `argument_${index}`,
      { type: "string", description: "words ".repeat(25), enum: ["one", "two"] },
    ]);
    const large = plain({ type: "object", properties: Object.fromEntries(many), required: ["argument_0"] });
    expect(JSON.stringify(large).length).toBeLessThanOrEqual(agentLimits.schemaBytes.max);
    expect(Object.keys(large["properties"] as object)).toHaveLength(limits.toolSchemaProperties.max);
    expect(large["required"]).toEqual(["argument_0"]);
    const choices = Array.from({ length: agentLimits.enumValues.max + 1 }, (_, index) => `choice ${index}`);
    expect(argument({ type: "string", enum: choices })).toEqual({ type: "string" });
  });

  it("is accepted by every vendor for any device schema", () => {
    const key = fc.constantFrom(
      ...["type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "required", "default"],
      ...[
        "minimum",
        "exclusiveMaximum",
        "minLength",
        "format",
        "description",
        "prefixItems",
        "not",
        "a",
        "名",
      ],
    );
    const leaf = fc.oneof(
      fc.constantFrom("string", "integer", "object", "array", "null", "boolean", "a", "名", "\u200B", "uri"),
      fc.constantFrom<unknown>(true, false, null, 0, -1, 1.5, ["string", "null"], ["a"], [], {}),
    );
    const { node } = fc.letrec((tie) => ({
      node: fc.dictionary(
        key,
        fc.oneof({ maxDepth: 6 }, leaf, tie("node"), fc.array(tie("node"), { maxLength: 3 })),
      ),
    }));
    fc.assert(
      fc.property(node, (schema) => {
        const outcome = repairTool({ name: "t", inputSchema: schema }, false);
        if (!outcome.ok) return;
        const shown = agentSchema(outcome.tool.inputSchema);
        expect(complaints(shown)).toEqual([]);
        expect(agentSchema({ ...shown, type: "object" })).toEqual(shown);
        expect(JSON.stringify(shown)).not.toMatch(/[\p{Cf}\p{Co}\p{DI}]/u);
      }),
      { numRuns: 500 },
    );
  });
});
