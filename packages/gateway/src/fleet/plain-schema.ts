/**
 * Most tools take a few numbers, texts and switches. Arguments that plainly fit such a schema need no validator; of
 * all others it decides, and says what is wrong. So this may say no to anything, and yes only to what is sure.
 */
import { isObject, type JsonObject } from "@tendon/protocol";

type Test = (value: unknown) => boolean;

const toolKeywords = new Set(["type", "properties", "required", "title", "description"]);
const valueKeywords = new Set(["type", "minimum", "maximum", "default", "title", "description"]);

export type SurelyFits = (args: JsonObject) => boolean;

/** `undefined` for schemas that say anything more. */
export function plainSchema(schema: JsonObject): SurelyFits | undefined {
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
