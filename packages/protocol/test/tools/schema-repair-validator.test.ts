import {
  agentSchema,
  inlineReferences,
  repairTool,
  SchemaValidator,
  withoutExpressions,
} from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("a repaired schema, whatever the device sends", () => {
  const keywords = [
    ...[
      "type",
      "properties",
      "required",
      "items",
      "enum",
      "const",
      "anyOf",
      "oneOf",
      "allOf",
      "not",
      "if",
      "then",
    ],
    ...[
      "minimum",
      "maximum",
      "minLength",
      "pattern",
      "format",
      "$ref",
      "$id",
      "id",
      "$defs",
      "$anchor",
      "contains",
    ],
    ...[
      "dependencies",
      "dependentRequired",
      "prefixItems",
      "propertyNames",
      "uniqueItems",
      "title",
      "unevaluatedItems",
    ],
    ...[
      "additionalProperties",
      "patternProperties",
      "$recursiveRef",
      "__proto__",
      "constructor",
      "x",
      "examples",
    ],
  ];
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(
        "object",
        "string",
        "integer",
        "array",
        "uri",
        "(",
        "#",
        "#/properties/x",
        "#/$defs/x",
        "toString",
      ),
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keywords), tie("node"), { maxKeys: 4 }),
    ),
  }));
  const raw = fc.record(
    {
      type: fc.constant("object"),
      properties: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom(...keywords)), node, { maxKeys: 4 }),
      required: node,
      anyOf: node,
      not: node,
      additionalProperties: node,
    },
    { requiredKeys: ["type"] },
  );

  it("accepts or rejects any arguments without throwing", () => {
    fc.assert(
      fc.property(raw, fc.jsonValue({ maxDepth: 2 }), fc.string(), (schema, value, name) => {
        const repaired = repairTool({ name: "t", inputSchema: schema }, false);
        if (!repaired.ok) {
          expect(repaired.setAside.reason).not.toBe("");
          return;
        }
        const { inputSchema } = repaired.tool;
        const validators = [inputSchema, inlineReferences(inputSchema), withoutExpressions(inputSchema)].map(
          (one) => new SchemaValidator(one),
        );
        for (const instance of [{}, value, { [name]: value }, { type: value, items: [value], x: value }]) {
          const [own = [], inlined = [], plain = []] = validators.map((one) => one.problems(instance));
          // The published schema accepts everything that the gateway accepts.
          if (own.length === 0) expect([...inlined, ...plain]).toEqual([]);
        }
        expect(JSON.stringify(agentSchema(inputSchema))).not.toContain('"$ref"');
      }),
      { numRuns: 1_000 },
    );
  });

  it("is not changed by a second repair", () => {
    fc.assert(
      fc.property(raw, (schema) => {
        const once = repairTool({ name: "t", inputSchema: schema }, false);
        if (!once.ok) {
          expect(once.setAside.name).toBe("t");
          return;
        }
        const { inputSchema } = once.tool;
        expect(repairTool({ name: "t", inputSchema }, false)).toMatchObject({
          tool: { inputSchema, repairs: [] },
        });
      }),
    );
  });
});
