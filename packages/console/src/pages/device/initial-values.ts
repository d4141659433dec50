import type { DeviceDetail } from "@tendon/protocol";
import type { Arguments } from "../../api/calls.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Property {
  readonly type?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

function propertiesOf(schema: Fields): [string, Property][] {
  const { properties } = schema;
  return typeof properties === "object" && properties !== null
    ? Object.entries(properties as Record<string, Property>)
    : [];
}

export function hasArguments(schema: Fields): boolean {
  return propertiesOf(schema).length > 0;
}

/**
 * The initial values of a form: the values that the device reported last, then the schema's defaults. A required value
 * that is unknown stays empty, except for a switch, which is off.
 */
export function initialValues(schema: Fields, present: Fields = {}): Arguments {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const values: Record<string, unknown> = {};
  for (const [name, property] of propertiesOf(schema)) {
    if (fits(present[name], property)) values[name] = present[name];
    else if (property.default !== undefined) values[name] = property.default;
    else if (property.type === "boolean" && required.includes(name)) values[name] = false;
  }
  return values;
}

/**
 * The values that a tool would change, from the device's last status: `self.screen.set_theme` changes the fields of
 * `screen`. Only tools that set something have such values.
 */
export function presentValues(tool: string, status: DeviceDetail["status"]): Fields {
  const [part, last] = tool.split(".").slice(-2);
  if (status === null || part === undefined || last === undefined || !/^set(_|[A-Z]|$)/.test(last)) return {};
  const found = status.value[part];
  return typeof found === "object" && found !== null ? (found as Fields) : {};
}

function fits(value: unknown, { type, enum: choices, minimum, maximum }: Property): boolean {
  if (choices !== undefined) return choices.includes(value);
  switch (type) {
    case "integer":
    case "number":
      return (
        typeof value === "number" &&
        (type === "number" || Number.isInteger(value)) &&
        value >= (minimum ?? value) &&
        value <= (maximum ?? value)
      );
    case "boolean":
    case "string":
      return typeof value === type;
    default:
      return false;
  }
}
