/**
 * Repairs the schemas of devices, which are untrusted and often wrong. It keeps what it can and describes its changes. An
 * irreparable schema affects only its own tool [MCP-8]. Only known keywords with values of the right kind remain:
 * anything else could make a validator fetch, recurse, throw or run forever.
 */
import { pointerPart } from "../json-schema/pointer.ts";
import { resolveReference, schemaChildren, schemaLists, schemaMaps } from "../json-schema/structure.ts";
import { limits } from "../limits.ts";
import { isObject, type JsonObject, nestedDeeperThan } from "../outcome.ts";
import { cleanText, hasInvisible } from "./clean-text.ts";
import type { ObjectSchema } from "./definition.ts";

export type RepairedSchema =
  | { readonly ok: true; readonly schema: ObjectSchema; readonly repairs: readonly string[] }
  | { readonly ok: false; readonly reason: string };

const knownTypes = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const formatName = /^[A-Za-z0-9-][A-Za-z0-9_.+-]{0,63}$/;
const anchorName = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
const turning: ReadonlySet<string> = new Set(["not", "oneOf", "if"]);
const numbers = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] as const;
const counts = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
] as const;
const texts = ["title", "description"] as const;
const flags = ["uniqueItems", "deprecated", "readOnly", "writeOnly"] as const;
const known = new Set<string>([
  ...schemaMaps,
  ...schemaLists,
  ...schemaChildren,
  ...numbers,
  ...counts,
  ...texts,
  ...flags,
  "type",
  "required",
  "enum",
  "const",
  "default",
  "examples",
  "format",
  "pattern",
  "$ref",
  "$anchor",
]);
const dropped = new Map([
  ["$dynamicRef", "only `$ref` is followed"],
  ["$recursiveRef", "only `$ref` is followed"],
  ["$id", "a device's schema has no address"],
  ["$schema", "the dialect is always 2020-12"],
  ["x-mcp-header", "a device may not ask for HTTP headers"],
]);

interface Mending {
  /** The whole original schema, to resolve references. */
  readonly root: JsonObject;
  /** Descriptions of the changes so far. */
  readonly repairs: string[];
}

const tooDeep = `its schema is nested deeper than ${limits.toolSchemaDepth.max}`;

class SchemaTooLarge extends RangeError {}

export function repairSchema(raw: unknown): RepairedSchema {
  if (raw === undefined || raw === null) {
    return { ok: true, schema: emptySchema, repairs: ["no schema was given; the tool takes no arguments"] };
  }
  if (!isObject(raw)) return { ok: false, reason: "its schema is not an object" };
  if (nestedDeeperThan(raw, limits.jsonDepth.max)) return { ok: false, reason: tooDeep };
  if (JSON.stringify(raw).length > limits.toolSchemaBytes.max) {
    return { ok: false, reason: `its schema is larger than ${limits.toolSchemaBytes.max} bytes` };
  }
  if (raw["type"] !== undefined && raw["type"] !== "object" && typeof raw["type"] === "string") {
    return { ok: false, reason: `its schema is of type ${raw["type"]}, arguments are always an object` };
  }
  const mending: Mending = { root: raw, repairs: [] };
  try {
    const schema = repairRoot({ ...raw, type: "object" }, mending);
    if (raw["type"] !== "object") mending.repairs.push("type was missing; taken as object");
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    if (Object.keys(properties).length > limits.toolSchemaProperties.max) {
      return { ok: false, reason: `it has more than ${limits.toolSchemaProperties.max} arguments` };
    }
    return { ok: true, schema: { ...schema, type: "object", properties }, repairs: mending.repairs };
  } catch (error) {
    if (error instanceof SchemaTooLarge) return { ok: false, reason: error.message };
    throw error;
  }
}

const emptySchema: ObjectSchema = { type: "object", properties: {} };

function repairRoot(root: JsonObject, mending: Mending): JsonObject {
  const before = mending.repairs.length;
  const schema = repairNode(root, "", 0, mending);
  if (mending.repairs.length === before) return schema;
  // A reference may point to a schema that was dropped.
  return repairRoot(schema, { root: schema, repairs: mending.repairs });
}

function repairNode(node: JsonObject, at: string, depth: number, mending: Mending): JsonObject {
  if (depth > limits.toolSchemaDepth.max) {
    throw new SchemaTooLarge(tooDeep);
  }
  const mended: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (known.has(key)) mended[key] = value;
    else
      mending.repairs.push(
        `${at}/${pointerPart(key)} dropped: ${dropped.get(key) ?? "not a keyword that is known"}`,
      );
  }
  repairType(mended, at, mending);
  repairRange(mended, at, mending);
  repairPlain(mended, at, mending);
  for (const key of schemaMaps) repairMap(mended, key, at, depth, mending);
  for (const key of schemaLists) {
    orDrop(mended, key, at, mending, () => repairList(mended, key, at, depth, mending));
  }
  for (const key of schemaChildren) {
    orDrop(mended, key, at, mending, () => repairChild(mended, key, at, depth, mending));
  }
  // After the properties, because a dropped property cannot be required.
  repairRequired(mended, at, mending);
  return mended;
}

/** Under these keywords, a repaired schema would accept fewer values than before, at worst none. Elsewhere it accepts more. */
function orDrop(
  node: Record<string, unknown>,
  key: string,
  at: string,
  mending: Mending,
  repair: () => void,
): void {
  const before = mending.repairs.length;
  repair();
  if (turning.has(key) && mending.repairs.length > before && node[key] !== undefined) {
    drop(node, key, at, mending, "what it says cannot be mended");
  }
}

function repairPlain(node: Record<string, unknown>, at: string, mending: Mending): void {
  const check = (key: string, fits: (value: unknown) => boolean, why: string) => {
    if (node[key] !== undefined && !fits(node[key])) drop(node, key, at, mending, why);
  };
  for (const key of texts) {
    check(key, (value) => typeof value === "string", "not text");
    if (typeof node[key] === "string") node[key] = cleanText(node[key], limits.toolDescriptionLength.max);
  }
  for (const key of flags) check(key, (value) => typeof value === "boolean", "neither true nor false");
  check("enum", (value) => Array.isArray(value) && value.length > 0, "not a list of values");
  check("examples", Array.isArray, "not a list of values");
  check("format", (value) => typeof value === "string" && formatName.test(value), "not a format's name");
  check("pattern", (value) => typeof value === "string" && !hasInvisible(value), "not a visible expression");
  check("$anchor", (value) => typeof value === "string" && anchorName.test(value), "not an anchor's name");
  check(
    "$ref",
    (value) => typeof value === "string" && value.startsWith("#"),
    "only references within the schema are followed",
  );
  check("$ref", (value) => resolveReference(mending.root, value as string) !== undefined, "it leads nowhere");
}

function drop(node: Record<string, unknown>, key: string, at: string, mending: Mending, why: string): void {
  delete node[key];
  mending.repairs.push(`${at}/${key} dropped: ${why}`);
}

function repairType(node: Record<string, unknown>, at: string, mending: Mending): void {
  const type = node["type"];
  if (type === undefined) return;
  const named = Array.isArray(type) ? type : [type];
  if (named.length === 0 || named.some((name) => typeof name !== "string" || !knownTypes.has(name))) {
    drop(node, "type", at, mending, "not a JSON Schema type");
  }
}

function repairRequired(node: Record<string, unknown>, at: string, mending: Mending): void {
  const required = node["required"];
  if (required === undefined) return;
  if (!Array.isArray(required)) {
    drop(node, "required", at, mending, "not a list of names");
    return;
  }
  // A branch of anyOf or if may require a property of its parent, and a reference adds its own properties.
  const isBranch = node["$ref"] !== undefined || (at !== "" && node["properties"] === undefined);
  const properties = isObject(node["properties"]) ? node["properties"] : {};
  const kept = required.filter(
    (name) => typeof name === "string" && (isBranch || Object.hasOwn(properties, name)),
  );
  if (kept.length === required.length) return;
  node["required"] = kept;
  mending.repairs.push(`${at}/required named arguments that do not exist`);
}

function repairRange(node: Record<string, unknown>, at: string, mending: Mending): void {
  for (const key of [...numbers, ...counts]) {
    if (node[key] !== undefined && !Number.isFinite(node[key])) drop(node, key, at, mending, "not a number");
  }
  const { minimum, maximum } = node;
  if (typeof minimum === "number" && typeof maximum === "number" && minimum > maximum) {
    drop(node, "minimum", at, mending, "above the maximum");
    drop(node, "maximum", at, mending, "below the minimum");
  }
}

function repairMap(
  node: Record<string, unknown>,
  key: string,
  at: string,
  depth: number,
  mending: Mending,
): void {
  const children = node[key];
  if (children === undefined) return;
  if (!isObject(children)) {
    drop(node, key, at, mending, "not an object of schemas");
    return;
  }
  node[key] = Object.fromEntries(
    Object.entries(children).flatMap(([name, child]) => {
      const where = `${at}/${key}/${pointerPart(name)}`;
      if (key !== "properties" || isArgumentName(name))
        return [[name, repairAny(child, where, depth, mending)]];
      mending.repairs.push(`${where} dropped: no argument can have this name`);
      return [];
    }),
  );
}

/** Half a surrogate pair cannot be sent. Names that every object inherits would seem to be present in all arguments. */
function isArgumentName(name: string): boolean {
  return !/\p{Surrogate}/u.test(name) && !(name in Object.prototype);
}

function repairList(
  node: Record<string, unknown>,
  key: string,
  at: string,
  depth: number,
  mending: Mending,
): void {
  const children = node[key];
  if (children === undefined) return;
  if (!Array.isArray(children) || children.length === 0) {
    drop(node, key, at, mending, "not a list of schemas");
    return;
  }
  node[key] = children.map((child, index) => repairAny(child, `${at}/${key}/${index}`, depth, mending));
}

function repairChild(
  node: Record<string, unknown>,
  key: string,
  at: string,
  depth: number,
  mending: Mending,
): void {
  const child = node[key];
  if (child === undefined || typeof child === "boolean") return;
  if (isObject(child)) node[key] = repairNode(child, `${at}/${key}`, depth + 1, mending);
  else drop(node, key, at, mending, "not a schema");
}

function repairAny(child: unknown, at: string, depth: number, mending: Mending): JsonObject {
  if (isObject(child)) return repairNode(child, at, depth + 1, mending);
  mending.repairs.push(`${at} was not a schema; it takes any value`);
  return {};
}
