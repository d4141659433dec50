/**
 * Prepares a device's schema for the library. Only evaluated keywords remain, so that the library runs no regular
 * expression. Every remaining reference can be resolved, because the library throws for the others.
 */
import { isObject, type JsonObject } from "../outcome.ts";
import { formatOf } from "./formats.ts";
import { Looser } from "./looser.ts";
import { mapSchemas, schemaChildren, schemaLists } from "./structure.ts";

const evaluated: ReadonlySet<string> = new Set([
  ...schemaChildren,
  ...schemaLists,
  ...["type", "const", "enum", "format", "required", "properties", "uniqueItems"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
  ...["minContains", "maxContains"],
]);

/** `root` resolves references. */
export function prepareSchema(schema: JsonObject, root: JsonObject): JsonObject {
  const looser = new Looser(schema, root, {
    format: (name) => formatOf(name) !== undefined,
    circles: false,
  });
  const numbers = new Map<JsonObject, number>();
  const copy = (given: unknown): unknown => {
    // The library does not report the location of a false schema.
    if (given === false) return { not: {} };
    return isObject(given) ? copyNode(given) : true;
  };
  const copyNode = (given: JsonObject): JsonObject => {
    const loose = looser.loosen(given);
    const own = Object.entries(loose).filter(([keyword]) => evaluated.has(keyword));
    const made = mapSchemas(Object.fromEntries(own), copy);
    const { format, multipleOf } = made;
    if (typeof format === "string") made["format"] = format.toLowerCase();
    // JSON Schema forbids this value, with which the library would reject every number.
    if (typeof multipleOf === "number" && multipleOf <= 0) delete made["multipleOf"];
    const target = looser.target(loose);
    if (target === undefined) return made;
    const number = numbers.get(target) ?? numbers.size;
    numbers.set(target, number);
    return { ...made, $ref: `#/$defs/${number}` };
  };
  const top = copyNode(schema);
  const definitions: Record<string, JsonObject> = {};
  // The loop also visits the targets that it adds, because definitions refer to others.
  for (const [target, number] of numbers) definitions[number] = copyNode(target);
  return { ...top, $defs: definitions };
}
