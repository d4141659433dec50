/**
 * Devices' schemas are untrusted and often wrong. Repair keeps what can be kept, says in words what it changed, and
 * gives up on a single tool, never on a list [MCP-8]. Keywords that could make a validator fetch or run for ever
 * ($ref to elsewhere, regular expressions) never survive.
 */
import { limits } from "../limits.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import type { ObjectSchema } from "./definition.ts";

export type RepairedSchema =
  | { readonly ok: true; readonly schema: ObjectSchema; readonly repairs: readonly string[] }
  | { readonly ok: false; readonly reason: string };

const knownTypes = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const schemaMaps = ["properties"] as const;
const schemaLists = ["anyOf", "oneOf", "allOf"] as const;
const dropped = new Map([
  ["pattern", "regular expressions of a device are not run"],
  ["patternProperties", "regular expressions of a device are not run"],
  ["$ref", "references are not followed"],
  ["$dynamicRef", "references are not followed"],
  ["$id", "a device's schema has no address"],
  ["$schema", "the dialect is always 2020-12"],
  ["x-mcp-header", "a device may not ask for HTTP headers"],
]);

class SchemaTooLarge extends RangeError {}

export function repairSchema(raw: unknown): RepairedSchema {
  const repairs: string[] = [];
  if (raw === undefined || raw === null) {
    return { ok: true, schema: emptySchema, repairs: ["no schema was given; the tool takes no arguments"] };
  }
  if (!isObject(raw)) return { ok: false, reason: "its schema is not an object" };
  if (JSON.stringify(raw).length > limits.toolSchemaBytes.max) {
    return { ok: false, reason: `its schema is larger than ${limits.toolSchemaBytes.max} bytes` };
  }
  if (raw["type"] !== undefined && raw["type"] !== "object" && typeof raw["type"] === "string") {
    return { ok: false, reason: `its schema is of type ${raw["type"]}, arguments are always an object` };
  }
  try {
    const schema = repairNode({ ...raw, type: "object" }, "", 0, repairs);
    if (raw["type"] !== "object") repairs.push("type was missing; taken as object");
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    if (Object.keys(properties).length > limits.toolSchemaProperties.max) {
      return { ok: false, reason: `it has more than ${limits.toolSchemaProperties.max} arguments` };
    }
    return { ok: true, schema: { ...schema, type: "object", properties }, repairs };
  } catch (error) {
    if (error instanceof SchemaTooLarge) return { ok: false, reason: error.message };
    throw error;
  }
}

const emptySchema: ObjectSchema = { type: "object", properties: {} };

function repairNode(node: JsonObject, at: string, depth: number, repairs: string[]): JsonObject {
  if (depth > limits.toolSchemaDepth.max) {
    throw new SchemaTooLarge(`its schema is nested deeper than ${limits.toolSchemaDepth.max}`);
  }
  const mended: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    const why = dropped.get(key);
    if (why !== undefined) {
      repairs.push(`${at}/${key} dropped: ${why}`);
      continue;
    }
    mended[key] = value;
  }
  repairType(mended, at, repairs);
  repairRequired(mended, at, repairs);
  repairRange(mended, at, repairs);
  if (mended["enum"] !== undefined && (!Array.isArray(mended["enum"]) || mended["enum"].length === 0)) {
    drop(mended, "enum", at, repairs, "not a list of values");
  }
  for (const key of schemaMaps) repairMap(mended, key, at, depth, repairs);
  for (const key of schemaLists) repairList(mended, key, at, depth, repairs);
  for (const key of ["items", "additionalProperties", "not"]) repairChild(mended, key, at, depth, repairs);
  return mended;
}

function drop(node: Record<string, unknown>, key: string, at: string, repairs: string[], why: string): void {
  delete node[key];
  repairs.push(`${at}/${key} dropped: ${why}`);
}

function repairType(node: Record<string, unknown>, at: string, repairs: string[]): void {
  const type = node["type"];
  if (type === undefined) return;
  const named = Array.isArray(type) ? type : [type];
  if (named.length === 0 || named.some((name) => typeof name !== "string" || !knownTypes.has(name))) {
    drop(node, "type", at, repairs, "not a JSON Schema type");
  }
}

function repairRequired(node: Record<string, unknown>, at: string, repairs: string[]): void {
  const required = node["required"];
  if (required === undefined) return;
  if (!Array.isArray(required)) {
    drop(node, "required", at, repairs, "not a list of names");
    return;
  }
  const properties = isObject(node["properties"]) ? node["properties"] : {};
  const kept = required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name));
  if (kept.length === required.length) return;
  node["required"] = kept;
  repairs.push(`${at}/required named arguments that do not exist`);
}

function repairRange(node: Record<string, unknown>, at: string, repairs: string[]): void {
  for (const key of ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"]) {
    if (node[key] !== undefined && !Number.isFinite(node[key])) drop(node, key, at, repairs, "not a number");
  }
  const { minimum, maximum } = node;
  if (typeof minimum === "number" && typeof maximum === "number" && minimum > maximum) {
    drop(node, "minimum", at, repairs, "above the maximum");
    drop(node, "maximum", at, repairs, "below the minimum");
  }
}

function repairMap(
  node: Record<string, unknown>,
  key: string,
  at: string,
  depth: number,
  repairs: string[],
): void {
  const children = node[key];
  if (children === undefined) return;
  if (!isObject(children)) {
    drop(node, key, at, repairs, "not an object of schemas");
    return;
  }
  node[key] = Object.fromEntries(
    Object.entries(children).map(([name, child]) => [
      name,
      repairAny(child, `${at}/${key}/${pointerPart(name)}`, depth, repairs),
    ]),
  );
}

function repairList(
  node: Record<string, unknown>,
  key: string,
  at: string,
  depth: number,
  repairs: string[],
): void {
  const children = node[key];
  if (children === undefined) return;
  if (!Array.isArray(children) || children.length === 0) {
    drop(node, key, at, repairs, "not a list of schemas");
    return;
  }
  node[key] = children.map((child, index) => repairAny(child, `${at}/${key}/${index}`, depth, repairs));
}

function repairChild(
  node: Record<string, unknown>,
  key: string,
  at: string,
  depth: number,
  repairs: string[],
): void {
  const child = node[key];
  if (child === undefined || typeof child === "boolean") return;
  if (isObject(child)) node[key] = repairNode(child, `${at}/${key}`, depth + 1, repairs);
  else drop(node, key, at, repairs, "not a schema");
}

function repairAny(child: unknown, at: string, depth: number, repairs: string[]): JsonObject {
  if (isObject(child)) return repairNode(child, at, depth + 1, repairs);
  repairs.push(`${at} was not a schema; it takes any value`);
  return {};
}

export function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
