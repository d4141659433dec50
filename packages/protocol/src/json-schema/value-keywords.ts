/** Keywords about a value by itself: its kind, its size, what it may be. */
import { isObject } from "../outcome.ts";
import { formatOf } from "./formats.ts";
import { type Check, type Keyword, type Run, unknown, type Verdict, yes } from "./run.ts";

export function pass(): Verdict {
  return yes;
}

export function type(given: string | readonly string[]): Check {
  const names = typeof given === "string" ? [given] : given;
  const [only] = names;
  const tests = names.map((name) => typeTests[name] ?? (() => false));
  const words = `must be ${choices(names.map(article))}`;
  const fits =
    tests.length === 1 && tests[0] !== undefined
      ? tests[0]
      : (value: unknown) => tests.some((test) => test(value));
  if (only === undefined) return pass;
  return (value, run) => (fits(value) ? yes : run.fail("type", words, names));
}

const typeTests: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => typeof value === "number" && Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

export function article(name: string): string {
  if (name === "null") return name;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

export function choices(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
}

export const valuesTold = 20;
const valueLength = 60;

export function choice(keyword: string, values: readonly unknown[]): Check {
  const plain = new Set(values.filter((value) => typeof value !== "object" || value === null));
  const written = new Set(
    values.filter((value) => typeof value === "object" && value !== null).map((value) => canonical(value)),
  );
  const told = values.slice(0, valuesTold).map(shown);
  const words = oneOfThese(told, values.length > valuesTold);
  return (value, run) => {
    const fits =
      typeof value === "object" && value !== null
        ? written.size > 0 && written.has(canonical(value, run))
        : plain.has(value);
    return fits ? yes : run.fail(keyword, words, told);
  };
}

export function oneOfThese(told: readonly string[], more: boolean): string {
  if (told.length === 1 && !more) return `must be ${told[0] ?? ""}`;
  return `must be one of ${told.join(", ")}${more ? ", …" : ""}`;
}

function shown(value: unknown): string {
  const written = JSON.stringify(value) ?? "null";
  return written.length <= valueLength ? written : `${written.slice(0, valueLength - 1)}…`;
}

/** The same text for equal values; made once a value instead of comparing each with each. */
function canonical(value: unknown, run?: Run): string {
  run?.spend(1);
  if (typeof value === "string") run?.spend(value.length >> 5);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, run)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name], run)}`).join(",")}}`;
}

export function number(
  keyword: string,
  fits: (value: number, limit: number) => boolean,
  words: string,
): Keyword {
  return (limit: number) => {
    const message = `${words} ${limit}`;
    return (value, run) =>
      typeof value !== "number" || fits(value, limit) ? yes : run.fail(keyword, message);
  };
}

/** 0.3 is a multiple of 0.1, although no quotient of the two is whole. */
export function isMultiple(value: number, step: number): boolean {
  if (step <= 0) return true;
  const times = value / step;
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}

export function text(
  keyword: string,
  fits: (length: number, limit: number) => boolean,
  words: string,
): Keyword {
  return (limit: number) => {
    const message = `must have ${words} ${counted(limit, "character")}`;
    return (value, run) => {
      if (typeof value !== "string") return yes;
      run.spend(value.length >> 5);
      return fits(characters(value), limit) ? yes : run.fail(keyword, message);
    };
  };
}

/** Pairs of surrogates count as one. */
function characters(value: string): number {
  let count = value.length;
  for (let at = 1; at < value.length; at += 1) {
    const before = value.charCodeAt(at - 1);
    const here = value.charCodeAt(at);
    if (before >= 0xd800 && before < 0xdc00 && here >= 0xdc00 && here < 0xe000) {
      count -= 1;
      at += 1;
    }
  }
  return count;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function format(name: string): Check {
  const known = formatOf(name);
  if (known === undefined) return (value) => (typeof value === "string" ? unknown : yes);
  const message = `must be ${known.words}`;
  return (value, run) => {
    if (typeof value !== "string") return yes;
    run.spend(value.length >> 4);
    return known.fits(value) ? yes : run.fail("format", message);
  };
}

export function items(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

export function members(value: unknown): number | undefined {
  return isObject(value) ? Object.keys(value).length : undefined;
}

export function size(
  keyword: string,
  countOf: (value: unknown) => number | undefined,
  fits: (count: number, limit: number) => boolean,
  words: string,
  noun: string,
): Keyword {
  return (limit: number) => {
    const message = `must have ${words} ${counted(limit, noun)}`;
    return (value, run) => {
      const count = countOf(value);
      return count === undefined || fits(count, limit) ? yes : run.fail(keyword, message);
    };
  };
}

export function uniqueItems(value: unknown, run: Run): Verdict {
  if (!Array.isArray(value)) return yes;
  const seen = new Set<string>();
  for (const item of value) {
    const written = canonical(item, run);
    if (seen.has(written)) return run.fail("uniqueItems", "must not have the same item twice");
    seen.add(written);
  }
  return yes;
}
