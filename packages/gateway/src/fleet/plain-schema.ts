/**
 * A fast check for simple schemas, which most tools have: a few numbers, strings and booleans. Arguments that pass need
 * no validator. For all others the validator decides and reports the problems. So this check may reject valid
 * arguments, but must never accept invalid ones.
 */
import { isObject, type JsonObject } from "@tendon/protocol";

type Test = (value: unknown) => boolean;

const toolKeywords = new Set(["type", "properties", "required", "title", "description"]);
const valueKeywords = new Set(["type", "minimum", "maximum", "default", "title", "description"]);

export type QuickCheck = (args: JsonObject) => boolean;

/** `undefined` for schemas with other keywords. */
export function plainSchema(schema: JsonObject): QuickCheck | undefined {
  const { type, properties = {}, required = [] } = schema;
  if (type !== "object" || !isObject(properties) || !isNames(required)) return undefined;
  if (!Object.keys(schema).every((keyword) => toolKeywords.has(keyword))) return undefined;
  const tests = new Map<string, Test>();
  for (const [name, value] of Object.entries(properties)) {
    const test = testOf(value);
    if (test === undefined) return undefined;
    tests.set(name, test);
  }
  return (args) => {
    for (const name of required) if (!Object.hasOwn(args, name)) return false;
    for (const name of Object.keys(args)) if (tests.get(name)?.(args[name]) === false) return false;
    return true;
  };
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function testOf(schema: unknown): Test | undefined {
  if (!isObject(schema) || !Object.keys(schema).every((keyword) => valueKeywords.has(keyword)))
    return undefined;
  const { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  if (typeof minimum !== "number" || typeof maximum !== "number") return undefined;
  const inRange = (value: number) => value >= minimum && value <= maximum;
  switch (type) {
    case "integer":
      return (value) => typeof value === "number" && Number.isInteger(value) && inRange(value);
    case "number":
      return (value) => typeof value === "number" && Number.isFinite(value) && inRange(value);
    case "string":
      return (value) => typeof value === "string";
    case "boolean":
      return (value) => typeof value === "boolean";
    default:
      return undefined;
  }
}
