/**
 * Removes the keywords that are not evaluated from a schema. The result accepts more values than before, never fewer. If
 * a schema inside `not`, `oneOf`, `if` or `maxContains` accepts more, its parent would accept fewer, so these keywords
 * are removed with it [MCP-14].
 */
import { isObject, type JsonObject } from "../outcome.ts";
import { resolveReference, schemasIn } from "./structure.ts";

export interface Evaluated {
  readonly format: (name: string) => boolean;
  /** References that form a cycle without a step into the value. */
  readonly circles: boolean;
}

/** Keywords whose schemas apply to the same value. */
const inPlaceLists = ["allOf", "anyOf", "oneOf"] as const;
const inPlaceChildren = ["not", "if", "then", "else"] as const;

export class Looser {
  /** Whether anything must be removed. */
  readonly needed: boolean;
  readonly #root: JsonObject;
  readonly #evaluated: Evaluated;
  readonly #targets = new Map<string, JsonObject | undefined>();
  readonly #circular = new Map<JsonObject, boolean>();
  /** Schemas that lose a keyword, and schemas that contain or reference one. */
  readonly #losing = new Set<JsonObject>();

  /** `root` resolves references. */
  constructor(schema: JsonObject, root: JsonObject, evaluated: Evaluated) {
    this.#root = root;
    this.#evaluated = evaluated;
    this.#findLosing(schema);
    this.needed = this.#losing.size > 0;
  }

  /** The target of a reference, if it is followed. */
  target({ $ref: reference }: JsonObject): JsonObject | undefined {
    if (typeof reference !== "string") return undefined;
    const target = this.#resolve(reference);
    if (target === undefined || this.#evaluated.circles) return target;
    return this.#isCircular(target) ? undefined : target;
  }

  /** One schema without its unevaluated keywords; its nested schemas are unchanged. */
  loosen(schema: JsonObject): JsonObject {
    if (!this.#losing.has(schema)) return schema;
    const { pattern: _pattern, patternProperties: expressions, ...made } = schema as Record<string, unknown>;
    if (isNonEmpty(expressions)) delete made["additionalProperties"];
    if (this.#losesFormat(schema)) delete made["format"];
    if (this.#losesReference(schema)) delete made["$ref"];
    if (this.#isLosing(made["not"])) delete made["not"];
    if (this.#isLosing(made["contains"])) delete made["maxContains"];
    const { oneOf, if: condition, then: fulfilled, else: otherwise } = made;
    if (Array.isArray(oneOf) && oneOf.some((child) => this.#isLosing(child))) {
      delete made["oneOf"];
      requireAny(made, oneOf);
    }
    if (this.#isLosing(condition)) {
      for (const keyword of ["if", "then", "else"]) delete made[keyword];
      if (fulfilled !== undefined && otherwise !== undefined) requireAny(made, [fulfilled, otherwise]);
    }
    return made;
  }

  #findLosing(schema: JsonObject): void {
    const leading = new Map<JsonObject, JsonObject[]>([[schema, []]]);
    for (const [node] of leading) {
      if (this.#loses(node)) this.#losing.add(node);
      for (const next of this.#next(node)) {
        const known = leading.get(next);
        if (known === undefined) leading.set(next, [node]);
        else known.push(node);
      }
    }
    // The loop also visits the schemas that it adds.
    for (const node of this.#losing) for (const before of leading.get(node) ?? []) this.#losing.add(before);
  }

  #next(schema: JsonObject): JsonObject[] {
    const target = this.target(schema);
    const children = schemasIn(schema).filter(isObject);
    return target === undefined ? children : [...children, target];
  }

  #isLosing(schema: unknown): boolean {
    return isObject(schema) && this.#losing.has(schema);
  }

  #loses(schema: JsonObject): boolean {
    return (
      schema["pattern"] !== undefined ||
      isNonEmpty(schema["patternProperties"]) ||
      this.#losesFormat(schema) ||
      this.#losesReference(schema)
    );
  }

  #losesFormat({ format }: JsonObject): boolean {
    return typeof format === "string" && !this.#evaluated.format(format);
  }

  #losesReference(schema: JsonObject): boolean {
    return typeof schema["$ref"] === "string" && this.target(schema) === undefined;
  }

  #resolve(reference: string): JsonObject | undefined {
    if (!this.#targets.has(reference)) this.#targets.set(reference, resolveReference(this.#root, reference));
    return this.#targets.get(reference);
  }

  /** Whether validation would never end, because references form a cycle without a step into the value. */
  #isCircular(schema: JsonObject): boolean {
    const known = this.#circular.get(schema);
    if (known !== undefined) return known;
    // A schema that is visited again before it is decided is part of a cycle.
    this.#circular.set(schema, true);
    const { $ref: reference } = schema;
    const target = typeof reference === "string" ? this.#resolve(reference) : undefined;
    const next = [
      target,
      ...inPlaceChildren.map((keyword) => schema[keyword]),
      ...inPlaceLists.flatMap((keyword) => schema[keyword] ?? []),
    ];
    const circular = next.some((other) => isObject(other) && this.#isCircular(other));
    this.#circular.set(schema, circular);
    return circular;
  }
}

function isNonEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

function requireAny(schema: Record<string, unknown>, forms: readonly unknown[]): void {
  const { anyOf, allOf } = schema;
  if (anyOf === undefined) schema["anyOf"] = forms;
  else schema["allOf"] = [...(Array.isArray(allOf) ? allOf : []), { anyOf: forms }];
}
