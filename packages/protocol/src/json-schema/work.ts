/**
 * Estimates the work of the library before it runs, because it cannot be stopped [MCP-15]: it counts the schemas that
 * hold at each place of the value, as if none of them failed early. A product of the two sizes would be simpler and
 * refuse long lists under schemas with many other arguments. One unit is a quarter to a third of a microsecond
 * of the library; counting takes a twentieth of that and ends at the bound.
 */
import { isObject, type JsonObject } from "../outcome.ts";
import { resolveReference } from "./structure.ts";

/** Schemas inside each other on the library's stack, which ends at some 500; arguments have 64 levels at most. */
const mostNested = 250;

/** What the way into a schema costs: the library writes down the place, failures, and what it has evaluated. */
const inPlaceCost = 3;
const itemCost = 1;
const memberCost = 6;

/** What a schema costs, and the schemas in it. */
interface Node {
  own: number;
  /** Beside that, for values that are objects or lists: comparing them with those of `enum` and `const`. */
  compared: number;
  measuresText: boolean;
  uniqueItems: boolean;
  inPlace: Node[];
  /** How many of these copy what they have evaluated. */
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

  /** Of a prepared schema: its references lead in no circle without a step into the value. */
  constructor(schema: JsonObject) {
    this.#root = schema;
    this.#top = this.#read(schema);
  }

  /** Infinite where it is more than `most`. */
  of(value: unknown, most: number): number {
    const count = new Count(most);
    count.meet(this.#top, value);
    return count.left < 0 ? Number.POSITIVE_INFINITY : most - count.left;
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

  constructor(most: number) {
    this.left = most;
  }

  meet(node: Node, value: unknown): void {
    this.#meet(node, value, isObject(value) ? Object.keys(value) : []);
  }

  /** `names` are those of an object's members: listing them again for each schema would take as long as the check. */
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
    // Each is compared with each.
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
    // Every schema lists the names, and so does each comparison.
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

/** What a schema costs for any value. A failure writes down the whole `enum` or `const`. */
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

/** How many values these are; long texts count as several. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return 1 + (value.length >> 5);
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  for (const member of Object.values(value)) size += sizeOf(member);
  return size;
}
