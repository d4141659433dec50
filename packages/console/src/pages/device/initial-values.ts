import type { Arguments } from "../../api/calls.ts";

interface Property {
  readonly type?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
}

function propertiesOf(schema: Readonly<Record<string, unknown>>): [string, Property][] {
  const { properties } = schema;
  return typeof properties === "object" && properties !== null
    ? Object.entries(properties as Record<string, Property>)
    : [];
}

export function hasArguments(schema: Readonly<Record<string, unknown>>): boolean {
  return propertiesOf(schema).length > 0;
}

/** What a form begins with: the schema's defaults, and something sensible where a value has to be given. */
export function firstValues(schema: Readonly<Record<string, unknown>>): Arguments {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const values: Record<string, unknown> = {};
  for (const [name, property] of propertiesOf(schema)) {
    const { type, minimum, maximum } = property;
    if (property.default !== undefined) values[name] = property.default;
    else if (!required.includes(name)) continue;
    else if (type === "boolean") values[name] = false;
    else if (type === "integer" && minimum !== undefined && maximum !== undefined) {
      values[name] = Math.round((minimum + maximum) / 2);
    }
  }
  return values;
}
