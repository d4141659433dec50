/** Checks the definition of a tool, which a JavaScript tools file may get wrong in any way. */
import { ToolDefinitionError } from "./errors.ts";
import type { ToolProperty } from "./esp32/esp32.ts";

export interface GivenTool {
  readonly name: unknown;
  readonly description: unknown;
  readonly properties: unknown;
  readonly callback: unknown;
}

/** Returns the properties in order, or throws a ToolDefinitionError that names the tool, the property and the mistake. */
export function checkedProperties(given: GivenTool): ReadonlyMap<string, ToolProperty> {
  const { name, description, properties, callback } = given;
  if (name === "") throw new ToolDefinitionError("a tool needs a name");
  if (typeof name !== "string")
    throw new ToolDefinitionError(`a tool needs a name, as a text; got ${shown(name)}`);
  const refuse = (what: string): never => {
    throw new ToolDefinitionError(`tool ${name}: ${what}`);
  };
  if (typeof description !== "string") refuse(`the description must be a text, got ${shown(description)}`);
  if (!isObject(properties)) refuse(`the properties must be an object or a Map, got ${shown(properties)}`);
  if (typeof callback !== "function") refuse("the last argument must be the function that runs it");
  const declared = new Map<string, ToolProperty>(
    properties instanceof Map ? properties : Object.entries(properties as Record<string, ToolProperty>),
  );
  for (const [key, property] of declared) checkProperty(`tool ${name}, property ${key}`, property);
  return declared;
}

const knownKeys = ["type", "default", "minimum", "maximum"];

function checkProperty(where: string, property: unknown): asserts property is ToolProperty {
  const refuse = (what: string): never => {
    throw new ToolDefinitionError(`${where}: ${what}`);
  };
  if (!isObject(property)) return refuse('must be an object such as { type: "boolean" }');
  const { type, default: fallback, minimum, maximum } = property;
  const unknown = Object.keys(property).find((key) => !knownKeys.includes(key));
  if (unknown !== undefined) refuse(`unknown key ${unknown}; the keys are ${knownKeys.join(", ")}`);
  switch (type) {
    case "boolean":
    case "string":
      if (minimum !== undefined || maximum !== undefined) refuse("only integers have a range");
      if (fallback !== undefined && typeof fallback !== type) {
        const expected = type === "string" ? "a text" : "true or false";
        refuse(`the default must be ${expected}, got ${shown(fallback)}`);
      }
      return;
    case "integer":
      checkRange({ fallback, minimum, maximum }, refuse);
      return;
    default:
      refuse(`the type must be "boolean", "integer" or "string", got ${shown(type)}`);
  }
}

function checkRange(
  { fallback, minimum, maximum }: { fallback: unknown; minimum: unknown; maximum: unknown },
  refuse: (what: string) => never,
): void {
  if ((minimum === undefined) !== (maximum === undefined))
    refuse("give both minimum and maximum, or neither");
  for (const value of [fallback, minimum, maximum]) {
    if (value !== undefined && !isInt32(value)) refuse(`${shown(value)} is not a 32-bit integer`);
  }
  if (typeof minimum !== "number" || typeof maximum !== "number") return;
  if (minimum > maximum) refuse(`the minimum ${minimum} is above the maximum ${maximum}`);
  if (typeof fallback === "number" && (fallback < minimum || fallback > maximum))
    refuse(`the default ${fallback} is outside ${minimum}..${maximum}`);
}

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= -(2 ** 31) && Number(value) < 2 ** 31;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[]" : "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
