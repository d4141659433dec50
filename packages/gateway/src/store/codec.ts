/** How values of the domain become columns and come back. Absent is `undefined` outside and NULL inside. */
import { StoreError } from "./store-error.ts";

export type Bound = string | number | bigint | null;

const NUL = "\u0000";
const longestIdentifier = 512;
const loneSurrogate = /\p{Surrogate}/u;

export function toJson(value: unknown): string {
  const text: unknown = JSON.stringify(value);
  if (typeof text !== "string") throw new StoreError("refused", "a value that has no JSON cannot be stored");
  return text;
}

/** The caller names the type that `toJson` was given: nobody else writes these columns. */
export function fromJson<Value>(text: string): Value {
  return JSON.parse(text) as Value;
}

export function optional<Value>(value: Value | null): Value | undefined {
  return value === null ? undefined : value;
}

export function flag(value: boolean): number {
  return value ? 1 : 0;
}

/** Something rows are found by: changed on its way in, it could come to mean somebody else. */
export function identifier(value: string, what: string): string {
  if (value === "" || value.length > longestIdentifier)
    throw new StoreError("refused", `${what} has no characters, or more than ${longestIdentifier}`);
  if (value.includes(NUL) || loneSurrogate.test(value))
    throw new StoreError("refused", `${what} has characters that a database cannot keep`);
  return value;
}

/**
 * One parameter, as both databases take it. PostgreSQL has no NUL in texts and SQLite's tools stop reading there: it
 * becomes the replacement character, as a lone surrogate does by itself. Every number column is whole: PostgreSQL
 * refuses a fraction there and SQLite keeps it. A Date or undefined would silently be NULL.
 */
export function bindable(value: unknown): Bound {
  if (typeof value === "string") return value.includes(NUL) ? value.replaceAll(NUL, "\uFFFD") : value;
  if (typeof value === "number" && Number.isFinite(value)) return Math.round(value);
  if (typeof value === "bigint" || value === null) return value;
  const kind = value instanceof Date ? "a Date" : typeof value;
  throw new StoreError("refused", `${kind} cannot be stored as it is`);
}
