/** Converts values to columns and back. Absent is `undefined` in the program and NULL in the database. */
import { StoreError } from "./store-error.ts";

export type Bound = string | number | bigint | null;

const NUL = "\u0000";
const longestIdentifier = 512;
const loneSurrogate = /\p{Surrogate}/u;

export function toJson(value: unknown): string {
  const text: unknown = JSON.stringify(value);
  if (typeof text !== "string")
    throw new StoreError("refused", "a value that JSON cannot represent cannot be stored");
  return text;
}

/** The caller names the type that it passed to `toJson`. No other program writes these columns. */
export function fromJson<Value>(text: string): Value {
  return JSON.parse(text) as Value;
}

export function optional<Value>(value: Value | null): Value | undefined {
  return value === null ? undefined : value;
}

export function flag(value: boolean): number {
  return value ? 1 : 0;
}

/** Checks a key. The database must store it unchanged: a changed key could match another device or principal. */
export function identifier(value: string, what: string): string {
  if (value === "" || value.length > longestIdentifier)
    throw new StoreError("refused", `${what} is empty or longer than ${longestIdentifier} characters`);
  if (value.includes(NUL) || loneSurrogate.test(value))
    throw new StoreError("refused", `${what} contains characters that the database cannot store`);
  return value;
}

/**
 * One parameter in a form that both databases accept. NUL becomes the replacement character, because PostgreSQL
 * rejects NUL in texts and SQLite's tools stop reading there. Numbers are rounded, because all number columns are
 * integers: PostgreSQL rejects a fraction and SQLite stores it. A Date or undefined would silently become NULL.
 */
export function bindable(value: unknown): Bound {
  if (typeof value === "string") return value.includes(NUL) ? value.replaceAll(NUL, "\uFFFD") : value;
  if (typeof value === "number" && Number.isFinite(value)) return Math.round(value);
  if (typeof value === "bigint" || value === null) return value;
  const kind = value instanceof Date ? "Date" : typeof value;
  throw new StoreError("refused", `a value of type ${kind} cannot be stored`);
}
