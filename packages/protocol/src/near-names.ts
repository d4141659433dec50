/**
 * Suggestions for an unknown name: a typing error, another case, a missing prefix, `_` for `.`. They are only shown: a
 * similar name is never used instead. Callers can send any name, so the cost is bounded by its length and by the number
 * of compared names.
 */
import { limits } from "./limits.ts";

const maxSuggestions = 3;
/** Distance of a name that starts or ends with the wanted one; it ranks after names with a few different letters. */
const partialMatch = 4;
const shortestPart = 3;
/** Compares at most this many; a caller with more unknown arguments has not misspelt one. */
const maxUnknownArguments = 8;

/** The most similar names, best first, at most three. `fits` is called only for similar names, because it may be costly. */
export function nearNames(
  wanted: string,
  known: Iterable<string>,
  fits: (name: string) => boolean = () => true,
): string[] {
  if (wanted.length > limits.hintedNameLength.max) return [];
  const plain = plainName(wanted);
  if (plain === "") return [];
  const near: { readonly name: string; readonly away: number }[] = [];
  let looked = 0;
  for (const name of known) {
    looked += 1;
    if (looked > limits.hintCandidates.max) break;
    const away = name.length > limits.hintedNameLength.max ? undefined : distance(plain, plainName(name));
    if (away !== undefined && name !== wanted) near.push({ name, away });
  }
  near.sort((one, other) => one.away - other.away || compare(one.name, other.name));
  const suggestions: string[] = [];
  let best = 0;
  for (const { name, away } of near) {
    // A name that differs only in case and punctuation is certainly meant: suggest no others.
    if (suggestions.length === maxSuggestions || (suggestions.length > 0 && best === 0 && away > 0)) break;
    if (!fits(name)) continue;
    if (suggestions.length === 0) best = away;
    suggestions.push(name);
  }
  return suggestions;
}

/** Text for the end of a sentence about an unknown name. */
export function didYouMean(names: readonly string[]): string {
  if (names.length === 0) return "";
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? "";
  return `; did you mean ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}?`;
}

/**
 * Text for the end of an error: unknown arguments that are similar to a missing one. Most schemas allow unknown
 * arguments, so the error itself names only the missing one.
 */
export function misspeltArguments(given: readonly string[], known: readonly string[]): string {
  const [has, knows] = [new Set(given), new Set(known)];
  const left = known.filter((name) => !has.has(name));
  return given
    .filter((name) => !knows.has(name))
    .slice(0, maxUnknownArguments)
    .map((name) => ({ name, near: nearNames(name, left) }))
    .filter(({ near }) => near.length > 0)
    .slice(0, maxSuggestions)
    .map(({ name, near }) => `there is no argument \`${name}\`${didYouMean(near)}`)
    .map((sentence, index) => (index === 0 ? `; ${sentence}` : ` T${sentence.slice(1)}`))
    .join("");
}

/** Ignores case, punctuation and the firmware's `self.`, which are the most frequent mistakes. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "_")
    .replaceAll(/^_|_$/g, "")
    .replace(/^self_/, "");
}

function distance(wanted: string, name: string): number | undefined {
  // One letter in five: with more differences it is another word (`on` for `off`).
  const max = Math.min(3, Math.max(1, Math.floor(wanted.length / 5)));
  const away = editDistance(wanted, name, max);
  if (away <= max) return away;
  if (wanted.length < shortestPart) return undefined;
  return name.endsWith(`_${wanted}`) || name.startsWith(`${wanted}_`) ? partialMatch : undefined;
}

/** Number of letters to add, remove, replace or swap with their neighbour; `max + 1` for any higher number. */
export function editDistance(wanted: string, name: string, max: number): number {
  if (Math.abs(wanted.length - name.length) > max) return max + 1;
  const [one, other] = withoutCommonEnds(wanted, name);
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  let row: number[] = [];
  for (let i = 1; i <= one.length; i += 1) {
    // Cells further from the diagonal than `max` have a higher distance anyway.
    const from = Math.max(1, i - max);
    const to = Math.min(other.length, i + max);
    row[from - 1] = from === 1 ? i : max + 1;
    let least = at(row, from - 1);
    for (let j = from; j <= to; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let away = Math.min(at(above, j - 1) + (same ? 0 : 1), at(above, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        away = Math.min(away, at(before, j - 2) + 1);
      row[j] = away;
      least = Math.min(least, away);
    }
    row[to + 1] = max + 1;
    if (least > max) return max + 1;
    [before, above, row] = [above, row, before];
  }
  return at(above, other.length);
}

/** Names in one fleet often start alike, so only the differing parts are compared. */
function withoutCommonEnds(one: string, other: string): [string, string] {
  const shorter = Math.min(one.length, other.length);
  let head = 0;
  while (head < shorter && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  return [one.slice(head, one.length - tail), other.slice(head, other.length - tail)];
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
