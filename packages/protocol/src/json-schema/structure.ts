/** The keywords that contain schemas. Everything else is data: an `enum`, a `default`, a text. */
import { limits } from "../limits.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import { pointerToken } from "./pointer.ts";

export const schemaMaps = ["properties", "patternProperties", "$defs", "definitions"] as const;
export const schemaLists = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
export const schemaChildren = [
  "items",
  "additionalProperties",
  "not",
  "contains",
  "propertyNames",
  "if",
  "then",
  "else",
] as const;

const maps: ReadonlySet<string> = new Set(schemaMaps);
const lists: ReadonlySet<string> = new Set(schemaLists);
const children: ReadonlySet<string> = new Set(schemaChildren);

/** Replaces the nested schemas; `undefined` removes one. */
export function mapSchemas(
  schema: JsonObject,
  change: (child: unknown, keyword: string) => unknown,
): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (children.has(keyword)) changed[keyword] = change(value, keyword);
    else if (lists.has(keyword) && Array.isArray(value))
      changed[keyword] = value.map((child) => change(child, keyword) ?? {});
    else if (maps.has(keyword) && isObject(value))
      changed[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, child]) => [name, change(child, keyword) ?? {}]),
      );
    else changed[keyword] = value;
    if (changed[keyword] === undefined) delete changed[keyword];
  }
  return changed;
}

/** The schemas directly inside a schema. */
export function schemasIn(schema: JsonObject): unknown[] {
  return Object.entries(schema).flatMap(([keyword, value]): unknown[] => {
    if (children.has(keyword)) return [value];
    if (lists.has(keyword) && Array.isArray(value)) return value;
    return maps.has(keyword) && isObject(value) ? Object.values(value) : [];
  });
}

/** The length of a schema as JSON, without its nested schemas. */
export function ownLength(schema: JsonObject): number {
  let length = 2;
  for (const [keyword, value] of Object.entries(schema)) {
    length += keyword.length + 4;
    if (maps.has(keyword)) length += Object.keys(isObject(value) ? value : {}).join("____").length;
    else if (!children.has(keyword) && !lists.has(keyword)) length += JSON.stringify(value)?.length ?? 0;
  }
  return length;
}

/**
 * Resolves a local reference: `#`, a JSON pointer after it, or an `$anchor`. A pointer must lead to a schema: a default
 * that looks like a schema has not been repaired and does not count.
 */
export function resolveReference(root: JsonObject, reference: string): JsonObject | undefined {
  if (reference === "#") return root;
  if (reference.startsWith("#/")) return schemaAt(root, reference.slice(2).split("/").map(pointerToken));
  return reference.startsWith("#") ? anchored(root, reference.slice(1)) : undefined;
}

function schemaAt(root: JsonObject, tokens: readonly string[]): JsonObject | undefined {
  let at: unknown = root;
  for (let index = 0; index < tokens.length; index += 1) {
    const keyword = tokens[index] ?? "";
    if (!isObject(at) || !Object.hasOwn(at, keyword)) return undefined;
    const value: unknown = at[keyword];
    if (children.has(keyword)) {
      at = value;
    } else if (maps.has(keyword) || lists.has(keyword)) {
      index += 1;
      const name = tokens[index];
      if (name === undefined || typeof value !== "object" || value === null || !Object.hasOwn(value, name))
        return undefined;
      at = (value as JsonObject)[name];
    } else {
      return undefined;
    }
  }
  return isObject(at) ? at : undefined;
}

const anchors = new WeakMap<JsonObject, ReadonlyMap<string, JsonObject>>();

function anchored(root: JsonObject, name: string): JsonObject | undefined {
  const known = anchors.get(root);
  if (known !== undefined) return known.get(name);
  const found = new Map<string, JsonObject>();
  gatherAnchors(root, found, limits.jsonDepth.max);
  anchors.set(root, found);
  return found.get(name);
}

function gatherAnchors(schema: JsonObject, found: Map<string, JsonObject>, levels: number): void {
  const { $anchor: name } = schema;
  if (typeof name === "string" && !found.has(name)) found.set(name, schema);
  if (levels === 0) return;
  for (const child of schemasIn(schema)) if (isObject(child)) gatherAnchors(child, found, levels - 1);
}
