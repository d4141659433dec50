import { Validator } from "@cfworker/json-schema";
import { type JsonObject, repairTool, SchemaValidator, withoutExpressions } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** Computed, because an object literal with a `then` looks like a promise. */
const conditional = "then";

describe("the library gets a copy of the schema", () => {
  const leaf = fc.oneof(
    fc.record({ type: fc.constantFrom("object", "string", "integer", "number", "array", "null", "boolean") }),
    fc.record({ enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 3 }) }),
    fc.record({ const: fc.jsonValue({ maxDepth: 1 }) }),
    fc.dictionary(
      fc.constantFrom(
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "exclusiveMinimum",
      ),
      fc.integer({ min: 0, max: 3 }),
      { maxKeys: 3 },
    ),
    fc.record({ uniqueItems: fc.boolean() }),
    fc.constantFrom({ pattern: "a" }, { format: "json-pointer" }, { $ref: "#/$defs/other" }),
  );
  const $defs = { other: { items: { not: { pattern: "b" } }, maxProperties: 2 } };
  const names = fc.constantFrom("a", "b", "c");
  const { node } = fc.letrec<{ node: JsonObject }>((tie) => {
    const child = fc.oneof({ weight: 5, arbitrary: tie("node") }, { weight: 1, arbitrary: fc.boolean() });
    const parts = fc
      .record(
        {
          properties: fc.dictionary(names, tie("node"), { maxKeys: 3 }),
          required: fc.uniqueArray(names, { maxLength: 2 }),
          additionalProperties: child,
          propertyNames: child,
          items: child,
          prefixItems: fc.array(tie("node"), { minLength: 1, maxLength: 2 }),
          contains: child,
          maxContains: fc.integer({ min: 0, max: 2 }),
          patternProperties: fc.dictionary(fc.constantFrom("a", "^b"), tie("node"), { maxKeys: 2 }),
          allOf: fc.array(tie("node"), { minLength: 1, maxLength: 2 }),
          anyOf: fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
          oneOf: fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
          not: child,
          if: child,
          fulfilled: child,
          else: child,
        },
        { requiredKeys: [] },
      )
      .map(({ fulfilled, ...rest }) =>
        fulfilled === undefined ? rest : { ...rest, [conditional]: fulfilled },
      );
    return { node: fc.oneof({ maxDepth: 3 }, leaf, parts) as fc.Arbitrary<JsonObject> };
  });
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue({ maxDepth: 0 }),
      fc.integer({ min: 0, max: 3 }),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(names, tie("any"), { maxKeys: 3 }),
    ),
  })).any;

  const notEvaluated = /"(pattern|patternProperties|format|\$ref)":/;

  it("accepts what the original accepts, and nothing else when everything is evaluated", () => {
    fc.assert(
      fc.property(node, value, (schema, given) => {
        const repaired = repairTool(
          { name: "t", inputSchema: { type: "object", properties: { a: schema }, $defs } },
          false,
        );
        if (!repaired.ok) return;
        const { inputSchema } = repaired.tool;
        const original = new Validator(inputSchema, "2020-12").validate({ a: given }).valid;
        const own = new SchemaValidator(inputSchema).problems({ a: given }).length === 0;
        if (original || !notEvaluated.test(JSON.stringify(inputSchema["properties"])))
          expect(own).toBe(original);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a schema published without regular expressions", () => {
  it("accepts no less when a reference leads to one", () => {
    const x = { type: "string", pattern: "a" };
    const $ref = "#/$defs/x";
    expect(
      withoutExpressions({
        properties: {
          a: { not: { $ref } },
          b: { oneOf: [{ $ref }, { const: "b" }] },
          c: { items: { $ref } },
        },
        $defs: { x },
      }),
    ).toEqual({
      properties: { a: {}, b: { anyOf: [{ $ref }, { const: "b" }] }, c: { items: { $ref } } },
      $defs: { x: { type: "string" } },
    });
  });
});
