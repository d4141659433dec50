/**
 * What a tool's schema says about addresses [ACC-5], read once a tool: which names are addresses, and which schemas
 * hold at a place of the arguments. Of alternatives all hold: which one a value has is not decided here.
 */
import {
  isAddressFormat,
  isAddressName,
  isObject,
  type JsonObject,
  resolveReference,
  schemasIn,
  type ToolDefinition,
} from "@tendon/protocol";

/** Schemas that hold at one place, with all that they contain for the same place. */
export type Holding = readonly JsonObject[];

export interface Declared {
  readonly name: string;
  readonly holding: Holding;
}

/** What a schema has somewhere: a format of addresses, a default with something inside, a default that is a text. */
interface Seen {
  format: boolean;
  structure: boolean;
  text: boolean;
}

const inPlace = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] as const;
const inItems = ["items", "prefixItems", "contains"] as const;
const none: Holding = [];

export class AddressPlan {
  /** Of the arguments as a whole. */
  readonly top: Holding;
  /** Some place is an address by its `format`, or has a default that could be one: names alone do not tell. */
  readonly needsSchema: boolean;
  readonly #root: JsonObject;
  /** Names in small letters: boards compare them in any case. */
  readonly #named = new Set<string>();
  readonly #holding = new Map<JsonObject, Holding>();
  readonly #targets = new Map<string, JsonObject | undefined>();
  /** Of schemas for names: whether they are addresses. */
  readonly #addressed = new Map<JsonObject, boolean>();
  readonly #declared = new Map<JsonObject, ReadonlyMap<string, readonly Declared[]>>();

  constructor(tool: ToolDefinition) {
    this.#root = tool.inputSchema;
    this.top = this.#holdingOf(this.#root);
    const seen: Seen = { format: false, structure: false, text: false };
    this.#read(this.#root, seen);
    this.needsSchema = seen.format || seen.structure || (seen.text && this.#named.size > 0);
  }

  /** Whether the schema declares an address under this name, however it is spelt. */
  declaresAddress(name: string): boolean {
    return this.#named.size > 0 && this.#named.has(name.toLowerCase());
  }

  isAddress(holding: Holding): boolean {
    return holding.some(({ format }) => typeof format === "string" && isAddressFormat(format));
  }

  /** Whether names of members are addresses. */
  areNamesAddresses(holding: Holding): boolean {
    return holding.some(({ propertyNames }) => {
      if (!isObject(propertyNames)) return false;
      const known = this.#addressed.get(propertyNames);
      if (known !== undefined) return known;
      const are = this.isAddress(this.#holdingOf(propertyNames));
      this.#addressed.set(propertyNames, are);
      return are;
    });
  }

  /** What holds for a member. An expression for names is not evaluated, so its schema holds for each of them. */
  member(holding: Holding, name: string): Holding {
    return this.#together(
      holding.flatMap((schema) => {
        const { properties, patternProperties, additionalProperties } = schema;
        const isDeclared = isObject(properties) && Object.hasOwn(properties, name);
        return [
          ...(this.declaredIn(schema).get(name.toLowerCase()) ?? []).map((known) => known.holding),
          ...(isObject(patternProperties) ? this.#each(Object.values(patternProperties)) : []),
          ...(isDeclared ? [] : this.#each([additionalProperties])),
        ];
      }),
    );
  }

  item(holding: Holding): Holding {
    return this.#together(
      holding.flatMap((schema) => inItems.flatMap((keyword) => this.#each([schema[keyword]].flat()))),
    );
  }

  /** The properties of a schema by their names in small letters. */
  declaredIn(schema: JsonObject): ReadonlyMap<string, readonly Declared[]> {
    const known = this.#declared.get(schema);
    if (known !== undefined) return known;
    const declared = new Map<string, Declared[]>();
    for (const [name, child] of Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})) {
      const lower = name.toLowerCase();
      const holding = isObject(child) ? this.#holdingOf(child) : none;
      declared.set(lower, [...(declared.get(lower) ?? []), { name, holding }]);
    }
    this.#declared.set(schema, declared);
    return declared;
  }

  #each(schemas: readonly unknown[]): Holding[] {
    return schemas.filter(isObject).map((schema) => this.#holdingOf(schema));
  }

  #together(parts: readonly Holding[]): Holding {
    const [first = none, ...others] = parts;
    return others.length === 0 ? first : [...new Set(parts.flat())];
  }

  #holdingOf(schema: JsonObject): Holding {
    const known = this.#holding.get(schema);
    if (known !== undefined) return known;
    const found = new Set<JsonObject>();
    this.#gather(schema, found);
    const holding = [...found];
    this.#holding.set(schema, holding);
    return holding;
  }

  #gather(schema: unknown, found: Set<JsonObject>): void {
    if (!isObject(schema) || found.has(schema)) return;
    found.add(schema);
    for (const keyword of inPlace) {
      const given = schema[keyword];
      if (Array.isArray(given)) for (const part of given) this.#gather(part, found);
      else if (given !== undefined) this.#gather(given, found);
    }
    const { $ref } = schema;
    if (typeof $ref === "string") this.#gather(this.#target($ref), found);
  }

  #target(reference: string): JsonObject | undefined {
    if (!this.#targets.has(reference)) this.#targets.set(reference, resolveReference(this.#root, reference));
    return this.#targets.get(reference);
  }

  /** Notes the names that are addresses, and what else is said of addresses anywhere in a schema. */
  #read(schema: unknown, seen: Seen): void {
    if (!isObject(schema)) return;
    const { properties, format, default: value } = schema;
    if (typeof format === "string" && isAddressFormat(format)) seen.format = true;
    if (typeof value === "object" && value !== null) seen.structure = true;
    if (typeof value === "string" && value !== "") seen.text = true;
    for (const name of Object.keys(isObject(properties) ? properties : {}))
      if (isAddressName(name)) this.#named.add(name.toLowerCase());
    for (const child of schemasIn(schema)) this.#read(child, seen);
  }
}

export function defaultIn(holding: Holding): unknown {
  return holding.find((schema) => schema["default"] !== undefined)?.["default"];
}
