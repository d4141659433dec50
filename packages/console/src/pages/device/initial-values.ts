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

/** The initial values of a form: the schema's defaults, and a sensible value for required fields. */
export function initialValues(schema: Readonly<Record<string, unknown>>): Arguments {
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
