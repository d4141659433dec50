import { ToolsFileError } from "./errors.ts";
import type { JsonValue, StateValue, ToolProperty } from "./esp32/esp32.ts";

/**
 * The format of a tools file, in YAML or JSON: a list of tools, or `{ state: {…}, tools: [ … ] }`.
 *
 *     state: { lamp.on: false }            # starting values, optional
 *     tools:
 *       - name: self.lamp.set
 *         description: Turns the lamp on or off
 *         properties:                      # optional; in order
 *           on: { type: boolean }          # boolean, integer or string; `default`; `minimum` with `maximum`
 *         returns: { set: lamp.on }        # optional, see below; without it the tool returns true
 *         userOnly: false                  # optional: listed only for people
 *         delayMs: 0                       # optional: blocks the device for this long before it answers
 *
 * `returns` is a fixed value (text, number, true, false or a list) or one of
 *     { value: … }                         any fixed value, also an object
 *     { echo: true } or { echo: on }       all arguments as an object, or one of them
 *     { set: lamp.on, from: on }           stores an argument in the device's state (`from` is optional
 *                                          if there is only one property), or with `to: …` a fixed value
 *     { get: lamp.on }                     returns the value from the state
 *     { error: text }                      the tool fails with this text
 */
export interface ToolsDocument {
  readonly state: Readonly<Record<string, StateValue>>;
  readonly tools: readonly ToolEntry[];
}

export interface ToolEntry {
  readonly name: string;
  readonly description: string;
  readonly userOnly: boolean;
  readonly properties: ReadonlyMap<string, ToolProperty>;
  readonly delayMs: number;
  readonly returns: ToolEffect;
}

type ToolEffect =
  | { readonly do: "value"; readonly value: JsonValue }
  | { readonly do: "echo"; readonly property: string | undefined }
  | { readonly do: "store"; readonly key: string; readonly property: string }
  | { readonly do: "put"; readonly key: string; readonly value: StateValue }
  | { readonly do: "get"; readonly key: string }
  | { readonly do: "fail"; readonly message: string };

/** Objects of the file as Maps, which keep the order of numeric names. */
type Fields = ReadonlyMap<string, unknown>;

export function readDocument(file: string, content: unknown): ToolsDocument {
  const top = Array.isArray(content) ? new Map([["tools", content]]) : content;
  if (!isFields(top)) throw new ToolsFileError(`${file}: must be a list of tools or an object with "tools"`);
  refuseUnknown(file, top, ["state", "tools"]);
  const { state = new Map(), tools } = asObject(top);
  if (!isFields(state)) throw new ToolsFileError(`${file}: state: must be an object`);
  if (!Array.isArray(tools)) throw new ToolsFileError(`${file}: tools: must be a list`);
  const starting = [...state].map(([key, value]) => {
    if (!isStateValue(value))
      throw new ToolsFileError(`${file}: state.${key}: must be a text, a number or a boolean`);
    return [key, value] as const;
  });
  const entries = tools.map((tool: unknown, index) => readTool(`${file}: tools[${index}]`, tool));
  for (const [index, { name }] of entries.entries()) {
    const first = entries.findIndex((other) => other.name === name);
    if (first !== index) {
      throw new ToolsFileError(
        `${file}: tools[${index}] (${name}): tools[${first}] has the same name; choose another one`,
      );
    }
  }
  return { state: Object.fromEntries(starting), tools: entries };
}

function readTool(place: string, tool: unknown): ToolEntry {
  if (!isFields(tool)) throw new ToolsFileError(`${place}: must be an object`);
  const fields = asObject(tool);
  const { name, description = "", userOnly = false, properties = new Map(), delayMs = 0 } = fields;
  if (typeof name !== "string" || name === "") throw new ToolsFileError(`${place}: name: must be a text`);
  const where = `${place} (${name})`;
  refuseUnknown(where, tool, ["name", "description", "userOnly", "properties", "returns", "delayMs"]);
  if (typeof description !== "string") throw new ToolsFileError(`${where}: description: must be a text`);
  if (typeof userOnly !== "boolean") throw new ToolsFileError(`${where}: userOnly: must be true or false`);
  if (typeof delayMs !== "number" || !(delayMs >= 0 && delayMs <= 3_600_000)) {
    throw new ToolsFileError(`${where}: delayMs: must be a number from 0 to 3600000`);
  }
  if (!isFields(properties)) throw new ToolsFileError(`${where}: properties: must be an object`);
  const typed = new Map<string, ToolProperty>();
  for (const [key, property] of properties) {
    typed.set(key, readProperty(`${where}: properties.${key}`, property));
  }
  const returns = readEffect(`${where}: returns`, fields["returns"], [...typed.keys()]);
  return { name, description, userOnly, properties: typed, delayMs, returns };
}

function readProperty(where: string, property: unknown): ToolProperty {
  if (!isFields(property)) throw new ToolsFileError(`${where}: must be an object`);
  const { type, default: fallback, minimum, maximum } = asObject(property);
  if (type !== "boolean" && type !== "integer" && type !== "string") {
    throw new ToolsFileError(`${where}.type: must be boolean, integer or string`);
  }
  if (type === "boolean") {
    refuseUnknown(where, property, ["type", "default"]);
    if (fallback !== undefined && typeof fallback !== "boolean") {
      throw new ToolsFileError(`${where}.default: must be true or false`);
    }
    return { type, ...(fallback === undefined ? {} : { default: fallback }) };
  }
  if (type === "string") {
    refuseUnknown(where, property, ["type", "default"]);
    if (fallback !== undefined && typeof fallback !== "string") {
      throw new ToolsFileError(`${where}.default: must be a text`);
    }
    return { type, ...(fallback === undefined ? {} : { default: fallback }) };
  }
  refuseUnknown(where, property, ["type", "default", "minimum", "maximum"]);
  return {
    type,
    ...integer(where, "default", fallback),
    ...integer(where, "minimum", minimum),
    ...integer(where, "maximum", maximum),
  };
}

function integer<K extends string>(where: string, key: K, value: unknown): { readonly [P in K]?: number } {
  if (value === undefined) return {};
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new ToolsFileError(`${where}.${key}: must be a whole number`);
  }
  return { [key]: value } as { readonly [P in K]?: number };
}

function readEffect(where: string, returns: unknown, properties: readonly string[]): ToolEffect {
  if (returns === undefined) return { do: "value", value: true };
  if (!isFields(returns)) return { do: "value", value: returns as JsonValue };
  const [first = "", ...others] = returns.keys();
  const { set, from, to } = asObject(returns);
  if (set !== undefined) return readSet(where, { set, from, to }, returns, properties);
  if (others.length > 0 || !["value", "echo", "get", "error"].includes(first)) {
    throw new ToolsFileError(`${where}: must be a fixed value or one of value, echo, set, get, error`);
  }
  const given = returns.get(first);
  if (first === "value") return { do: "value", value: given as JsonValue };
  if (first === "echo") {
    if (given !== true && !properties.includes(String(given))) {
      throw new ToolsFileError(`${where}.echo: must be true or the name of a property`);
    }
    return { do: "echo", property: given === true ? undefined : String(given) };
  }
  if (typeof given !== "string") throw new ToolsFileError(`${where}.${first}: must be a text`);
  return first === "get" ? { do: "get", key: given } : { do: "fail", message: given };
}

function readSet(
  where: string,
  { set, from, to }: { set: unknown; from: unknown; to: unknown },
  returns: Fields,
  properties: readonly string[],
): ToolEffect {
  refuseUnknown(where, returns, ["set", "from", "to"]);
  if (typeof set !== "string" || set === "") throw new ToolsFileError(`${where}.set: must be a state key`);
  if (to !== undefined) {
    if (!isStateValue(to)) throw new ToolsFileError(`${where}.to: must be a text, a number or a boolean`);
    return { do: "put", key: set, value: to };
  }
  const property = from ?? (properties.length === 1 ? properties[0] : undefined);
  if (typeof property !== "string" || !properties.includes(property)) {
    throw new ToolsFileError(`${where}.from: must be the name of a property (or use "to")`);
  }
  return { do: "store", key: set, property };
}

function isFields(value: unknown): value is Fields {
  return value instanceof Map;
}

/** For objects with known names, whose order does not matter. */
function asObject(fields: Fields): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields);
}

function isStateValue(value: unknown): value is StateValue {
  return typeof value === "string" || typeof value === "boolean" || typeof value === "number";
}

function refuseUnknown(where: string, fields: Fields, known: readonly string[]): void {
  const unknown = [...fields.keys()].find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new ToolsFileError(`${where}: ${unknown}: unknown key (known: ${known.join(", ")})`);
  }
}
