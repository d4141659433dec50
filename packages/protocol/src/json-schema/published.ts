/** A device's schema for clients: without references and, where clients would run them, without regular expressions. */
import { limits } from "../limits.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import { Looser } from "./looser.ts";
import { mapSchemas, ownLength, resolveReference, schemasIn } from "./structure.ts";

const annotations = new Set([
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);
const referring = new Set(["$ref", "$defs", "definitions", "$anchor"]);

/** If a schema inside these keywords accepts more, the keywords accept less, at worst nothing. */
const turning = new Set(["not", "oneOf", "if"]);

const inlined = new WeakMap<JsonObject, JsonObject>();

/**
 * Inlines the references of a schema [AGT-9]. A recursive reference, one that is too deep and one beyond the size limit
 * are replaced by a schema that accepts any value of the type. A schema without references is returned unchanged.
 */
export function inlineReferences<Schema extends JsonObject>(schema: Schema): Schema {
  const known = inlined.get(schema);
  if (known !== undefined) return known as Schema;
  const made = hasReferences(schema) ? (new Inliner(schema).inline(schema, 0) as Schema) : schema;
  inlined.set(schema, made);
  return made;
}

function hasReferences(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  return (
    Object.keys(schema).some((keyword) => referring.has(keyword)) || schemasIn(schema).some(hasReferences)
  );
}

class Inliner {
  readonly #root: JsonObject;
  readonly #open = new Set<JsonObject>();
  #cuts = 0;
  #room: number = limits.toolSchemaInlinedBytes.max;

  constructor(root: JsonObject) {
    this.#root = root;
    this.#open.add(root);
  }

  inline(schema: unknown, depth: number): unknown {
    if (!isObject(schema)) return schema;
    this.#room -= ownLength(schema);
    const { $ref: reference, $defs: _defs, definitions: _old, $anchor: _anchor, ...own } = schema;
    const plain = this.#inside(own, depth);
    if (typeof reference !== "string") return plain;
    return together(this.#target(reference, depth), plain);
  }

  #inside(own: JsonObject, depth: number): JsonObject {
    const made: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(own)) {
      const before = this.#cuts;
      const inside = mapSchemas({ [keyword]: value }, (child) => this.inline(child, depth + 1));
      if (this.#cuts === before || !turning.has(keyword)) Object.assign(made, inside);
    }
    return made;
  }

  #target(reference: string, depth: number): JsonObject {
    const target = resolveReference(this.#root, reference);
    const tooFar = depth >= limits.toolSchemaInlinedDepth.max || this.#room <= 0;
    if (target === undefined || this.#open.has(target) || tooFar) {
      this.#cuts += 1;
      return typeof target?.["type"] === "string" ? { type: target["type"] } : {};
    }
    this.#open.add(target);
    const made = this.inline(target, depth + 1) as JsonObject;
    this.#open.delete(target);
    return made;
  }
}

/** Keywords beside a reference apply too; texts beside it replace the texts of the referenced schema. */
function together(target: JsonObject, own: JsonObject): JsonObject {
  const news = Object.entries(own).filter(([keyword, value]) => !repeats(target, keyword, value));
  if (news.every(([keyword]) => annotations.has(keyword))) return { ...target, ...Object.fromEntries(news) };
  if (Object.keys(target).length === 0) return own;
  const others = Array.isArray(own["allOf"]) ? own["allOf"] : [];
  return { ...own, allOf: [target, ...others] };
}

function repeats(target: JsonObject, keyword: string, value: unknown): boolean {
  if (keyword === "properties" && isObject(value) && Object.keys(value).length === 0) return true;
  return keyword === "type" && target["type"] === value;
}

/**
 * The schema without its regular expressions, for validators that would run them. It accepts more values than before,
 * never fewer.
 */
export function withoutExpressions<Schema extends JsonObject>(schema: Schema): Schema {
  const looser = new Looser(schema, schema, { format: () => true, circles: true });
  const strip = (given: unknown): unknown =>
    isObject(given) ? mapSchemas(looser.loosen(given), strip) : given;
  return (looser.needed ? strip(schema) : schema) as Schema;
}
