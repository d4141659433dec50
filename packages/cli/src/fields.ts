import { UsageError } from "./errors.ts";

/** `key=value` pairs as they are typed; what the values mean depends on who asks. */
export function splitPairs(pairs: readonly string[]): (readonly [string, string])[] {
  return pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`\`${pair}\` is not key=value`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
}

/** A number, true, false, a list or an object where it reads like one; the text itself otherwise. */
export function readLoosely(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
