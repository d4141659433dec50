/**
 * A schema that every model API accepts [AGT-9]. OpenAI, Anthropic and Gemini reject a whole request, with all its tools,
 * because of one unsupported schema. So only keywords that all three support remain; the others become text in the
 * description. The result says less than the device's schema, which is still used to check arguments.
 */

import { agentLimits } from "../agent-limits.ts";
import { inlineReferences } from "../json-schema/published.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import { cleanText, hasInvisible } from "./clean-text.ts";
import type { ObjectSchema } from "./definition.ts";
import { flattenSchema } from "./flat-schema.ts";

interface Room {
  readonly depth: number;
  readonly textLength: number;
  readonly enumValues: number;
}

/** Anthropic rejects any other argument name. */
const argumentName = /^[a-zA-Z0-9_.-]{1,64}$/;
const kinds = ["string", "number", "integer", "boolean", "object", "array"] as const;
type Kind = (typeof kinds)[number];

/** Levels of detail, from everything to names only; the first that is small enough is used. */
const rooms: readonly Room[] = [
  {
    depth: agentLimits.schemaDepth.max,
    textLength: agentLimits.schemaTextLength.max,
    enumValues: agentLimits.enumValues.max,
  },
  { depth: agentLimits.schemaDepth.max, textLength: 80, enumValues: 20 },
  { depth: 1, textLength: 0, enumValues: 0 },
];

export function agentSchema(given: ObjectSchema): ObjectSchema {
  const schema = inlineReferences(given);
  let plain = plainObject(schema, rooms[0] ?? noRoom);
  for (const room of rooms.slice(1)) {
    if (JSON.stringify(plain).length <= agentLimits.schemaBytes.max) break;
    plain = plainObject(schema, room);
  }
  return plain;
}

const noRoom: Room = { depth: 0, textLength: 0, enumValues: 0 };

function plainObject(schema: JsonObject, room: Room): ObjectSchema {
  return { ...objectNode(flattenSchema(schema), room, []), type: "object" };
}

function plainNode(raw: unknown, room: Room): JsonObject | undefined {
  const schema = flattenSchema(isObject(raw) ? raw : {});
  const named = kindsOf(schema);
  const [kind, ...others] = named;
  // Only null or nothing matches, so there is no value to pass.
  if (kind === undefined) return undefined;
  if (room.depth < 0 && kind === "array") return { type: kind, items: { type: "string" } };
  const notes = others.length === 0 ? [] : [`Also takes: ${others.join(", ")}.`];
  switch (kind) {
    case "object":
      return objectNode(schema, room, notes);
    case "array":
      return arrayNode(schema, room, notes);
    case "string":
      return stringNode(schema, room, notes);
    case "number":
    case "integer":
      return numberNode(kind, schema, room, notes);
    case "boolean":
      notes.push(...oneOfNote(schema));
      return { type: kind, ...described(schema, room, notes), ...defaultOf(schema, kind, room) };
  }
}

/** The types of a value; the first is shown. A schema without a type accepts anything, so it is shown as text. */
function kindsOf(schema: JsonObject): Kind[] {
  const { type } = schema;
  if (type !== undefined) {
    const named = Array.isArray(type) ? type : [type];
    return kinds.filter((kind) => named.includes(kind)).sort((a, b) => named.indexOf(a) - named.indexOf(b));
  }
  if (isObject(schema["properties"])) return ["object"];
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return ["array"];
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  const found = kinds.filter((kind) => values.some((value) => isOfKind(value, kind)));
  if (values.length > 0) return found.filter((kind) => kind !== "integer" || !found.includes("number"));
  return ["minimum", "maximum"].some((key) => schema[key] !== undefined) ? ["number"] : ["string"];
}

function objectNode(schema: JsonObject, room: Room, notes: string[]): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const shown: Record<string, JsonObject> = {};
  for (const [name, child] of room.depth <= 0 ? [] : Object.entries(properties)) {
    const node = plainNode(child, { ...room, depth: room.depth - 1 });
    if (node === undefined) continue;
    if (argumentName.test(name)) shown[name] = node;
    else notes.push(leftOut(name, node, required.includes(name)));
  }
  const needed = required.filter((name) => typeof name === "string" && Object.hasOwn(shown, name));
  return {
    type: "object",
    ...described(schema, room, notes),
    properties: shown,
    ...(needed.length === 0 ? {} : { required: [...new Set(needed)] }),
  };
}

/** An argument whose name some APIs reject is described in the text instead, so that a model can still pass it. */
function leftOut(name: string, node: JsonObject, needed: boolean): string {
  const kind = typeof node["type"] === "string" ? node["type"] : "value";
  return `${needed ? "Needs" : "Also takes"} \`${cleanText(name, 64)}\` (${kind}).`;
}

function arrayNode(schema: JsonObject, room: Room, notes: string[]): JsonObject {
  const [first] = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
  const items = plainNode(schema["items"] ?? first, { ...room, depth: room.depth - 1 });
  return {
    type: "array",
    ...described(schema, room, notes),
    items: items ?? { type: "string" },
    ...counts(schema, "minItems", "maxItems"),
  };
}

function stringNode(schema: JsonObject, room: Room, notes: string[]): JsonObject {
  const values = (Array.isArray(schema["enum"]) ? schema["enum"] : []).filter(
    (value): value is string => typeof value === "string" && isChoice(value),
  );
  const whole = values.length > 0 && values.length <= room.enumValues;
  const { format, pattern } = schema;
  if (typeof format === "string" && format !== "date-time") notes.push(`Format: ${format}.`);
  if (typeof pattern === "string" && pattern.length <= agentLimits.enumValueLength.max)
    notes.push(`Pattern: ${pattern}`);
  return {
    type: "string",
    ...described(schema, room, notes),
    ...(whole ? { enum: [...new Set(values)] } : {}),
    ...(format === "date-time" ? { format } : {}),
    ...counts(schema, "minLength", "maxLength"),
    ...defaultOf(schema, "string", room),
  };
}

/** A value that cannot be shown exactly is omitted, because a model must be able to send the same value. */
function isChoice(value: string): boolean {
  return value !== "" && value.length <= agentLimits.enumValueLength.max && !hasInvisible(value);
}

function numberNode(kind: "number" | "integer", schema: JsonObject, room: Room, notes: string[]): JsonObject {
  const step = kind === "integer" ? 1 : 0;
  const minimum = bound(schema["minimum"], schema["exclusiveMinimum"], step, Math.max);
  const maximum = bound(schema["maximum"], schema["exclusiveMaximum"], -step, Math.min);
  if (typeof schema["multipleOf"] === "number") notes.push(`A multiple of ${schema["multipleOf"]}.`);
  notes.push(...oneOfNote(schema));
  return {
    type: kind,
    ...described(schema, room, notes),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...defaultOf(schema, kind, room),
  };
}

function bound(
  inclusive: unknown,
  exclusive: unknown,
  step: number,
  tightest: (...all: number[]) => number,
): number | undefined {
  const limits = [
    ...(typeof inclusive === "number" ? [inclusive] : []),
    ...(typeof exclusive === "number" ? [exclusive + step] : []),
  ];
  return limits.length === 0 ? undefined : tightest(...limits);
}

/** Gemini supports enums for strings only. */
function oneOfNote(schema: JsonObject): string[] {
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  const shown = values.filter((value) => typeof value === "number" || typeof value === "boolean");
  return shown.length === 0 ? [] : [`One of: ${shown.slice(0, 20).join(", ")}.`];
}

function counts(schema: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const count = schema[key];
      return Number.isSafeInteger(count) && (count as number) >= 0 ? [[key, count]] : [];
    }),
  );
}

function defaultOf(schema: JsonObject, kind: Kind, room: Room): JsonObject {
  const value = schema["default"];
  if (room.textLength === 0 || !isOfKind(value, kind)) return {};
  return typeof value !== "string" || value === "" || isChoice(value) ? { default: value } : {};
}

function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "string":
    case "number":
    case "boolean":
      return typeof value === kind;
    case "integer":
      return Number.isInteger(value);
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
  }
}

function described(schema: JsonObject, room: Room, notes: readonly string[]): JsonObject {
  if (room.textLength === 0) return {};
  const own = typeof schema["description"] === "string" ? schema["description"] : schema["title"];
  const text = typeof own === "string" ? cleanText(own, room.textLength) : "";
  const all = cleanText([text, ...notes].filter((part) => part !== "").join(" "), room.textLength * 2);
  return all === "" ? {} : { description: all };
}
