/** Converts the library's errors into messages. It returns a flat list in which each error precedes its causes. */
import type { OutputUnit } from "@cfworker/json-schema";
import { isObject, type JsonObject } from "../outcome.ts";
import { formatOf } from "./formats.ts";
import { pointerPart, pointerToken } from "./pointer.ts";
import { resolveReference, schemaChildren } from "./structure.ts";

export interface SchemaProblem {
  /** JSON pointer to the value; "" is the whole value. */
  readonly path: string;
  /** The failed keyword; `steps` if the check would take too long. */
  readonly keyword: string;
  /** The problem, to be read after the value's name: "must be an integer". */
  readonly message: string;
  /** The accepted values: the types of `type`, or the values of `enum` and `const` as JSON. */
  readonly expected?: readonly string[];
}

const maxProblems = 20;
const maxValues = 20;
/** Maximum number of alternatives in a message. */
const formsRead = 32;
const valueLength = 60;

/** Keywords that fail because of a nested error, which the list contains too. */
const containers: ReadonlySet<string> = new Set(
  "$ref allOf if properties additionalProperties items prefixItems".split(" "),
);
const children: ReadonlySet<string> = new Set(schemaChildren);

/** A failed keyword and its location. */
interface Failure {
  readonly keyword: string;
  /** The keyword's value in the schema. */
  readonly given: unknown;
  /** The keyword that contains its schema. */
  readonly through: string;
  readonly path: string;
}

export class Explanation {
  readonly #schema: JsonObject;
  readonly #value: unknown;

  constructor(schema: JsonObject, value: unknown) {
    this.#schema = schema;
    this.#value = value;
  }

  of(units: readonly OutputUnit[]): SchemaProblem[] {
    const problems = new Map<string, SchemaProblem>();
    for (let at = 0; at < units.length && problems.size < maxProblems; ) {
      const end = this.#endOf(units, at);
      for (const problem of this.#explain(units.slice(at, end)))
        if (problems.size < maxProblems) problems.set(`${problem.path} ${problem.message}`, problem);
      at = end;
    }
    return [...problems.values()];
  }

  /** The end of the errors that belong to a unit. */
  #endOf(units: readonly OutputUnit[], at: number): number {
    const { keyword, keywordLocation } = units[at] as OutputUnit;
    let end = at + 1;
    if (keyword !== "anyOf" && keyword !== "oneOf" && keyword !== "propertyNames") return end;
    while (units[end]?.keywordLocation.startsWith(`${keywordLocation}/`) === true) end += 1;
    return end;
  }

  #explain([unit, ...causes]: readonly OutputUnit[]): readonly SchemaProblem[] {
    if (unit === undefined || containers.has(unit.keyword)) return [];
    const failure = this.#locate(unit);
    if (failure === undefined) return [];
    const { keyword, given, path } = failure;
    switch (keyword) {
      case "anyOf":
      case "oneOf":
        return this.#tellForms(failure, unit.keywordLocation, causes);
      case "required":
        return this.#missing(given, unit).map((name) => ({
          path: `${path}/${pointerPart(name)}`,
          keyword,
          message: "is required",
        }));
      case "propertyNames":
        return causes.slice(0, 1).map((cause) => ({
          path: pathOf(cause),
          keyword,
          message: "has a name that is not accepted",
        }));
      default:
        return [sentence(failure)];
    }
  }

  #missing(names: unknown, unit: OutputUnit): string[] {
    let at: unknown = this.#value;
    for (const name of placeOf(unit)) at = (at as JsonObject)[name];
    return listOf(names).filter((name) => isObject(at) && !Object.hasOwn(at, name as string)) as string[];
  }

  /** A value that matches no alternative: lists what it could be, or what the closest alternative misses. */
  #tellForms(
    { keyword, given, path }: Failure,
    location: string,
    causes: readonly OutputUnit[],
  ): readonly SchemaProblem[] {
    const forms: OutputUnit[][] = listOf(given).map(() => []);
    for (const cause of causes)
      forms[Number.parseInt(cause.keywordLocation.slice(location.length + 1), 10)]?.push(cause);
    if (forms.some((form) => form.length === 0))
      return [{ path, keyword, message: "fits more than one of the forms of which it must have one" }];
    const complaints = forms.slice(0, formsRead).map((form) => this.of(form));
    const only = complaints.flatMap((problems) => (problems.length === 1 ? problems : []));
    const whole =
      only.length === complaints.length && only.every((problem) => problem.path === path && problem.expected);
    const expected = [...new Set(only.flatMap((problem) => problem.expected ?? []))];
    if (whole && only.every((problem) => problem.keyword === "type"))
      return [{ path, keyword: "type", message: `must be ${choices(expected.map(article))}`, expected }];
    if (whole && only.every((problem) => problem.keyword !== "type"))
      return [{ path, keyword: "enum", message: oneOfThese(expected), expected }];
    const isOfKind = (problems: readonly SchemaProblem[]) =>
      problems.length > 0 && !problems.some((problem) => problem.path === path && problem.keyword === "type");
    const near = complaints.filter(isOfKind).sort((a, b) => a.length - b.length)[0];
    return near ?? [{ path, keyword, message: "has none of the forms that are accepted" }];
  }

  /** `undefined` for errors of items that `contains` tried. */
  #locate(unit: OutputUnit): Failure | undefined {
    const tokens = unit.keywordLocation.split("/").slice(1);
    let schema = this.#schema;
    let through = "";
    for (let index = 0; index < tokens.length - 1; index += 1) {
      const keyword = tokens[index] ?? "";
      if (keyword === "contains") return undefined;
      let next: unknown = schema[keyword];
      if (keyword === "$ref") {
        next = resolveReference(this.#schema, next as string);
      } else {
        through = keyword;
        if (!children.has(keyword)) {
          index += 1;
          next = (next as JsonObject)[pointerToken(tokens[index] ?? "")];
        }
      }
      if (!isObject(next)) return undefined;
      schema = next;
    }
    return { keyword: unit.keyword, given: schema[unit.keyword], through, path: pathOf(unit) };
  }
}

/** The property names on the path to the value. */
function placeOf({ instanceLocation }: OutputUnit): string[] {
  return instanceLocation.split("/").slice(1).map(pointerToken);
}

function pathOf(unit: OutputUnit): string {
  return placeOf(unit)
    .map((name) => `/${pointerPart(name)}`)
    .join("");
}

function sentence({ keyword, given, through, path }: Failure): SchemaProblem {
  const say = (message: string, expected?: readonly string[]): SchemaProblem =>
    expected === undefined ? { path, keyword, message } : { path, keyword, message, expected };
  switch (keyword) {
    case "type": {
      const names = (Array.isArray(given) ? given : [given]) as string[];
      return say(`must be ${choices(names.map(article))}`, names);
    }
    case "const":
    case "enum": {
      const values = (keyword === "const" ? [given] : listOf(given)).slice(0, maxValues + 1).map(shown);
      return say(oneOfThese(values), values);
    }
    case "not":
      if (!isObject(given) || Object.keys(given).length > 0) return say("has a form that is not accepted");
      if (through !== "additionalProperties") return { path, keyword: "false", message: "is not accepted" };
      return {
        path,
        keyword: through,
        message: path.lastIndexOf("/") === 0 ? "is not an argument of this tool" : "is not accepted here",
      };
    case "format":
      return say(`must be ${formatOf(String(given))?.words ?? "in another format"}`);
    case "uniqueItems":
      return say("must not have the same item twice");
    case "contains":
    case "minContains":
    case "maxContains": {
      const bound = keyword === "maxContains" ? "at most" : "at least";
      const count = typeof given === "number" ? given : 1;
      return {
        path,
        keyword: "contains",
        message: `must contain ${bound} ${counted(count, "fitting item")}`,
      };
    }
    default: {
      const limit = typeof given === "number" ? given : 0;
      const words = limits[keyword];
      return say(words === undefined ? "does not fit the schema" : words(limit));
    }
  }
}

const limits: Readonly<Record<string, (limit: number) => string>> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  exclusiveMinimum: (limit) => `must be more than ${limit}`,
  exclusiveMaximum: (limit) => `must be less than ${limit}`,
  multipleOf: (limit) => `must be a multiple of ${limit}`,
  minLength: (limit) => `must have at least ${counted(limit, "character")}`,
  maxLength: (limit) => `must have at most ${counted(limit, "character")}`,
  minItems: (limit) => `must have at least ${counted(limit, "item")}`,
  maxItems: (limit) => `must have at most ${counted(limit, "item")}`,
  minProperties: (limit) => `must have at least ${counted(limit, "member")}`,
  maxProperties: (limit) => `must have at most ${counted(limit, "member")}`,
};

function article(name: string): string {
  if (name === "null") return name;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

function choices(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
}

function oneOfThese(values: readonly string[]): string {
  const listed = values.slice(0, maxValues);
  if (listed.length === 1) return `must be ${listed[0] ?? ""}`;
  return `must be one of ${listed.join(", ")}${values.length > maxValues ? ", …" : ""}`;
}

function shown(value: unknown): string {
  const written = JSON.stringify(value) ?? "null";
  return written.length <= valueLength ? written : `${written.slice(0, valueLength - 1)}…`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
