/**
 * A schema without alternatives: `allOf` is merged, and of `anyOf` or `oneOf` one branch is kept. Values that match the
 * flat schema match the original in all but contrived cases, and arguments are always checked against the original.
 */
import { isObject, type JsonObject } from "../outcome.ts";

const combining = new Set(["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const"]);

export function flattenSchema(schema: JsonObject): JsonObject {
  const plain: JsonObject = {
    ...Object.fromEntries(Object.entries(schema).filter(([key]) => !combining.has(key))),
    ...(schema["const"] === undefined ? {} : { enum: [schema["const"]] }),
  };
  let flat = plain;
  for (const part of branches(schema["allOf"])) flat = both(flat, part);
  for (const key of ["anyOf", "oneOf"]) {
    const parts = branches(schema[key]).filter((part) => !isNull(part));
    if (parts.length > 0) flat = both(flat, oneOf(parts));
  }
  return flat;
}

function branches(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject).map(flattenSchema) : [];
}

function isNull({ type, enum: values }: JsonObject): boolean {
  return type === "null" || (Array.isArray(values) && values.length === 1 && values[0] === null);
}

/** Merges objects and enums so that they cover every part; for other kinds, the first part is used. */
function oneOf(parts: readonly JsonObject[]): JsonObject {
  const [first = {}] = parts;
  if (parts.every(({ properties, required }) => isObject(properties) || Array.isArray(required))) {
    return parts.slice(1).reduce<JsonObject>(either, first);
  }
  if (parts.every((part) => Array.isArray(part["enum"]))) {
    const values = parts.flatMap((part) => part["enum"] as unknown[]);
    const { description: _one, title: _own, ...rest } = first;
    return { ...rest, enum: [...new Set(values)] };
  }
  const types = parts.flatMap(({ type }) => (Array.isArray(type) ? type : type === undefined ? [] : [type]));
  return types.length === 0 ? first : { ...first, type: [...new Set(types)] };
}

function either(a: JsonObject, b: JsonObject): JsonObject {
  const needed = new Set(list(b["required"]));
  const { enum: _some, description: _own, title: _name, ...rest } = a;
  return {
    ...rest,
    properties: mergedProperties(a, b, (one, other) => oneOf([flattenSchema(one), flattenSchema(other)])),
    required: list(a["required"]).filter((name) => needed.has(name)),
  };
}

function both(a: JsonObject, b: JsonObject): JsonObject {
  const required = [...new Set([...list(a["required"]), ...list(b["required"])])];
  const properties = mergedProperties(a, b, both);
  return {
    ...b,
    ...a,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
    ...tighter(a, b, "minimum", Math.max),
    ...tighter(a, b, "maximum", Math.min),
  };
}

function mergedProperties(
  a: JsonObject,
  b: JsonObject,
  merge: (one: JsonObject, other: JsonObject) => JsonObject,
): JsonObject {
  const merged = new Map(Object.entries(map(a["properties"])));
  for (const [name, schema] of Object.entries(map(b["properties"]))) {
    const known = merged.get(name);
    merged.set(name, isObject(known) && isObject(schema) ? merge(known, schema) : schema);
  }
  return Object.fromEntries(merged);
}

function tighter(
  a: JsonObject,
  b: JsonObject,
  key: string,
  pick: (x: number, y: number) => number,
): JsonObject {
  const values = [a[key], b[key]].filter((value) => typeof value === "number");
  return values.length === 0 ? {} : { [key]: values.reduce((x, y) => pick(x, y)) };
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function map(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
