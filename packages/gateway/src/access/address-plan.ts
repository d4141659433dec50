/**
 * What a tool's schema says about addresses [ACC-5], read once per tool: which names are addresses, and which schemas
 * apply at a position of the arguments. All alternatives apply, because the plan does not evaluate them.
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

/** The schemas that apply at one position, including those inside `allOf`, `anyOf` and the like. */
export type ApplicableSchemas = readonly JsonObject[];

export interface Declared {
  readonly name: string;
  readonly applicable: ApplicableSchemas;
}

/** What occurs anywhere in a schema: an address format, a default that is an object or array, a default that is a string. */
interface Seen {
  format: boolean;
  structure: boolean;
  text: boolean;
}

const inPlace = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] as const;
const inItems = ["items", "prefixItems", "contains"] as const;
const none: ApplicableSchemas = [];

export class AddressPlan {
  /** For the arguments object itself. */
  readonly top: ApplicableSchemas;
  /** Whether names alone are not enough: an argument is an address by its `format`, or has a default that could be one. */
  readonly needsSchema: boolean;
  readonly #root: JsonObject;
  /** Names in lower case, because boards ignore case. */
  readonly #named = new Set<string>();
  readonly #applicable = new Map<JsonObject, ApplicableSchemas>();
  readonly #targets = new Map<string, JsonObject | undefined>();
  /** For each `propertyNames` schema: whether it declares addresses. */
  readonly #addressed = new Map<JsonObject, boolean>();
  readonly #declared = new Map<JsonObject, ReadonlyMap<string, readonly Declared[]>>();

  constructor(tool: ToolDefinition) {
    this.#root = tool.inputSchema;
    this.top = this.#applicableOf(this.#root);
    const seen: Seen = { format: false, structure: false, text: false };
    this.#read(this.#root, seen);
    this.needsSchema = seen.format || seen.structure || (seen.text && this.#named.size > 0);
  }

  /** Whether the schema declares an address under this name, in any case. */
  declaresAddress(name: string): boolean {
    return this.#named.size > 0 && this.#named.has(name.toLowerCase());
  }

  isAddress(applicable: ApplicableSchemas): boolean {
    return applicable.some(({ format }) => typeof format === "string" && isAddressFormat(format));
  }

  /** Whether the names of members are addresses themselves. */
  areNamesAddresses(applicable: ApplicableSchemas): boolean {
    return applicable.some(({ propertyNames }) => {
      if (!isObject(propertyNames)) return false;
      const known = this.#addressed.get(propertyNames);
      if (known !== undefined) return known;
      const are = this.isAddress(this.#applicableOf(propertyNames));
      this.#addressed.set(propertyNames, are);
      return are;
    });
  }

  /** What applies to a member. Patterns of `patternProperties` are not evaluated, so their schemas apply to every member. */
  member(applicable: ApplicableSchemas, name: string): ApplicableSchemas {
    return this.#merge(
      applicable.flatMap((schema) => {
        const { properties, patternProperties, additionalProperties } = schema;
        const isDeclared = isObject(properties) && Object.hasOwn(properties, name);
        return [
          ...(this.declaredIn(schema).get(name.toLowerCase()) ?? []).map((known) => known.applicable),
          ...(isObject(patternProperties) ? this.#each(Object.values(patternProperties)) : []),
          ...(isDeclared ? [] : this.#each([additionalProperties])),
        ];
      }),
    );
  }

  item(applicable: ApplicableSchemas): ApplicableSchemas {
    return this.#merge(
      applicable.flatMap((schema) => inItems.flatMap((keyword) => this.#each([schema[keyword]].flat()))),
    );
  }

  /** The properties of a schema by their names in lower case. */
  declaredIn(schema: JsonObject): ReadonlyMap<string, readonly Declared[]> {
    const known = this.#declared.get(schema);
    if (known !== undefined) return known;
    const declared = new Map<string, Declared[]>();
    for (const [name, child] of Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})) {
      const lower = name.toLowerCase();
      const applicable = isObject(child) ? this.#applicableOf(child) : none;
      declared.set(lower, [...(declared.get(lower) ?? []), { name, applicable }]);
    }
    this.#declared.set(schema, declared);
    return declared;
  }

  #each(schemas: readonly unknown[]): ApplicableSchemas[] {
    return schemas.filter(isObject).map((schema) => this.#applicableOf(schema));
  }

  #merge(parts: readonly ApplicableSchemas[]): ApplicableSchemas {
    const [first = none, ...others] = parts;
    return others.length === 0 ? first : [...new Set(parts.flat())];
  }

  #applicableOf(schema: JsonObject): ApplicableSchemas {
    const known = this.#applicable.get(schema);
    if (known !== undefined) return known;
    const found = new Set<JsonObject>();
    this.#gather(schema, found);
    const applicable = [...found];
    this.#applicable.set(schema, applicable);
    return applicable;
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

  /** Collects the names that are addresses, and what the schema has about addresses anywhere. */
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

export function defaultIn(applicable: ApplicableSchemas): unknown {
  return applicable.find((schema) => schema["default"] !== undefined)?.["default"];
}
