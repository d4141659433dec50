import { type JsonObject, SchemaValidator } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { plainSchema } from "../src/fleet/plain-schema.ts";

const volume = {
  type: "object",
  properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
  required: ["volume"],
};
const mixed = {
  type: "object",
  description: "all kinds",
  properties: {
    level: { type: "number", minimum: -1.5, description: "how much" },
    name: { type: "string", default: "x" },
    on: { type: "boolean" },
  },
};

describe("a plain schema", () => {
  it.each<[JsonObject, JsonObject, boolean]>([
    [volume, { volume: 0 }, true],
    [volume, { volume: 100 }, true],
    [volume, { volume: 50.0, other: { deep: [] } }, true],
    [volume, { volume: 101 }, false],
    [volume, { volume: -1 }, false],
    [volume, { volume: 1.5 }, false],
    [volume, { volume: "50" }, false],
    [volume, { volume: null }, false],
    [volume, {}, false],
    [volume, Object.create({ volume: 3 }) as JsonObject, false],
    [mixed, {}, true],
    [mixed, { level: -1.5, name: "", on: false }, true],
    [mixed, { level: -2 }, false],
    [mixed, { on: 0 }, false],
    [mixed, { name: 3 }, false],
    [{ type: "object" }, { anything: 1 }, true],
    [JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'), { a: 1 }, true],
  ])("%j decides %j: %s", (schema, args, sure) => {
    expect(plainSchema(schema)?.(args)).toBe(sure);
    if (sure) expect(new SchemaValidator(schema).problems(args)).toEqual([]);
  });

  it.each<[JsonObject]>([
    [{}],
    [{ type: ["object", "null"] }],
    [{ type: "object", additionalProperties: false }],
    [{ type: "object", properties: [] }],
    [{ type: "object", required: "volume" }],
    [{ type: "object", $ref: "#/x" }],
    [{ type: "object", properties: { a: { type: "integer", multipleOf: 2 } } }],
    [{ type: "object", properties: { a: { type: "string", enum: ["x"] } } }],
    [{ type: "object", properties: { a: { type: "integer", minimum: "0" } } }],
    [{ type: "object", properties: { a: { type: ["integer", "null"] } } }],
    [{ type: "object", properties: { a: true } }],
    [{ type: "object", properties: { a: {} } }],
  ])("does not decide %j, which is left to the validator", (schema) => {
    expect(plainSchema(schema)).toBeUndefined();
  });
});
