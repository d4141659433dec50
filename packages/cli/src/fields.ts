import { UsageError } from "./errors.ts";

/** Splits `key=value` arguments. The caller interprets the values. */
export function splitPairs(pairs: readonly string[]): (readonly [string, string])[] {
  return pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`\`${pair}\` is not of the form key=value.`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
}

/** Parses the text as JSON where it is valid JSON; returns the text itself otherwise. */
export function readLoosely(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
