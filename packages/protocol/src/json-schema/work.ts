/**
 * Estimates the library's work before it runs, because the library cannot be stopped [MCP-15]. It counts the schemas that
 * apply to each part of the value, as if none failed early. A product of both sizes would be simpler, but would reject
 * long lists in schemas with many other arguments. One unit is a quarter to a third of a microsecond of the library;
 * counting takes a twentieth of that and stops at the bound.
 */
import { isObject, type JsonObject } from "../outcome.ts";
import { resolveReference } from "./structure.ts";

/** Nested schemas on the library's stack, which overflows at about 500; arguments have at most 64 levels. */
const mostNested = 250;

/** Cost of entering a schema: the library records the location, errors and evaluated properties. */
const inPlaceCost = 3;
const itemCost = 1;
const memberCost = 6;

/** The cost of a schema, and its nested schemas. */
interface Node {
  own: number;
  /** Additional cost for objects and lists: comparing them with the values of `enum` and `const`. */
  compared: number;
  measuresText: boolean;
  uniqueItems: boolean;
  inPlace: Node[];
  /** How many of these copy the evaluated properties. */
  branches: number;
  properties: Map<string, Node>;
  additional: Node | undefined;
  names: Node | undefined;
  prefix: Node[];
  items: Node | undefined;
  contains: Node | undefined;
}

export class Work {
  readonly #root: JsonObject;
  readonly #nodes = new Map<JsonObject, Node>();
  readonly #top: Node;

  /** For a prepared schema, whose references form no cycle without a step into the value. */
  constructor(schema: JsonObject) {
    this.#root = schema;
    this.#top = this.#read(schema);
  }

  /** Infinity if it exceeds `max`. */
  of(value: unknown, max: number): number {
    const count = new Count(max);
    count.meet(this.#top, value);
    return count.left < 0 ? Number.POSITIVE_INFINITY : max - count.left;
  }

  #read(schema: JsonObject): Node {
    const known = this.#nodes.get(schema);
    if (known !== undefined) return known;
    const lists = ["allOf", "anyOf", "oneOf"].map((keyword) => listOf(schema[keyword]));
    const node: Node = {
      own: ownCost(schema),
      compared: [schema["const"], ...listOf(schema["enum"])].reduce<number>(
        (sum, value) => sum + (typeof value === "object" && value !== null ? sizeOf(value) / 2 : 0),
        0,
      ),
      measuresText: ["minLength", "maxLength", "format"].some((keyword) => schema[keyword] !== undefined),
      uniqueItems: schema["uniqueItems"] === true,
      inPlace: [],
      branches: lists.flat().length,
      properties: new Map(),
      additional: undefined,
      names: undefined,
      prefix: [],
      items: undefined,
      contains: undefined,
    };
    this.#nodes.set(schema, node);
    const { $ref: reference, properties } = schema;
    const target = typeof reference === "string" ? resolveReference(this.#root, reference) : undefined;
    const inPlace = [target, ...["not", "if", "then", "else"].map((keyword) => schema[keyword])];
    node.inPlace = [...inPlace, ...lists.flat()].filter(isObject).map((child) => this.#read(child));
    for (const [name, child] of Object.entries(isObject(properties) ? properties : {}))
      node.properties.set(name, this.#child(child) ?? this.#read({}));
    node.additional = this.#child(schema["additionalProperties"]);
    node.names = this.#child(schema["propertyNames"]);
    node.prefix = listOf(schema["prefixItems"]).map((child) => this.#child(child) ?? this.#read({}));
    node.items = this.#child(schema["items"]);
    node.contains = this.#child(schema["contains"]);
    return node;
  }

  #child(schema: unknown): Node | undefined {
    if (schema === true) return this.#read({});
    return isObject(schema) ? this.#read(schema) : undefined;
  }
}

class Count {
  left: number;
  #nested = 0;

  constructor(max: number) {
    this.left = max;
  }

  meet(node: Node, value: unknown): void {
    this.#meet(node, value, isObject(value) ? Object.keys(value) : []);
  }

  /** `names` are the object's property names: listing them for each schema would take as long as the check. */
  #meet(node: Node, value: unknown, names: readonly string[]): void {
    this.left -= node.own;
    if (this.#nested >= mostNested) this.left = -1;
    if (this.left < 0) return;
    this.#nested += 1;
    for (const other of node.inPlace) {
      this.left -= inPlaceCost;
      this.#meet(other, value, names);
      if (this.left < 0) return;
    }
    if (typeof value === "string") this.left -= node.measuresText ? value.length >> 5 : 0;
    else if (Array.isArray(value)) this.#meetItems(node, value);
    else if (isObject(value)) this.#meetMembers(node, value, names);
    this.#nested -= 1;
  }

  #meetItems(node: Node, items: readonly unknown[]): void {
    this.left -= node.compared + (node.branches * items.length) / 2;
    // `uniqueItems` compares every pair.
    if (node.uniqueItems && items.length > 1) this.left -= (items.length * sizeOf(items)) / 5;
    const met = (node.items ?? node.contains) ? items.length : Math.min(items.length, node.prefix.length);
    for (let index = 0; index < met && this.left >= 0; index += 1) {
      const own = node.prefix[index] ?? node.items;
      if (own !== undefined) this.#meetItem(own, items[index]);
      if (node.contains !== undefined) this.#meetItem(node.contains, items[index]);
    }
  }

  #meetItem(node: Node, item: unknown): void {
    this.left -= itemCost;
    this.meet(node, item);
  }

  #meetMembers(node: Node, members: JsonObject, names: readonly string[]): void {
    // Every schema and every comparison lists the names.
    this.left -=
      (1 + node.compared) * (names.length >> 2) + node.compared + (node.branches * names.length) / 2;
    for (const name of names) {
      if (this.left < 0) return;
      const own = node.properties.get(name) ?? node.additional;
      if (own !== undefined) this.#meetMember(own, name, members[name]);
      if (node.names !== undefined) this.#meetMember(node.names, name, name);
    }
  }

  #meetMember(node: Node, name: string, member: unknown): void {
    this.left -= memberCost + (name.length >> 5);
    this.meet(node, member);
  }
}

/** The cost of a schema for any value. An error contains the whole `enum` or `const`. */
function ownCost(schema: JsonObject): number {
  const { properties, required, multipleOf, enum: values, const: only } = schema;
  return (
    1 +
    Object.keys(isObject(properties) ? properties : {}).length / 4 +
    listOf(required).length / 2 +
    (multipleOf === undefined ? 0 : 8) +
    (values === undefined ? 0 : JSON.stringify(values).length / 64) +
    (only === undefined ? 0 : JSON.stringify(only).length / 64)
  );
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The number of values; a long text counts as several. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return 1 + (value.length >> 5);
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  for (const member of Object.values(value)) size += sizeOf(member);
  return size;
}
