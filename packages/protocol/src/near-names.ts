/**
 * What somebody may have meant by a name that is nobody's: a slip of the keys, another case, a prefix left out, `_` for
 * `.`. Only to be told: a name that is nearly right is never taken for the right one. Names are made up by whoever
 * asks, so each question costs little: its length and the names looked at are bounded.
 */
import { limits } from "./limits.ts";

const namesTold = 3;
/** Behind every name that is a few letters off: one of which the wanted is the beginning or the end. */
const partOf = 4;
const shortestPart = 3;
/** So many are looked at: whoever gives more that are not known has not misspelt one. */
const unknownArguments = 8;

/** The nearest of them, best first, three at most. `fits` is asked of near ones only: it may cost something. */
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
    const away = name.length > limits.hintedNameLength.max ? undefined : howFar(plain, plainName(name));
    if (away !== undefined && name !== wanted) near.push({ name, away });
  }
  near.sort((one, other) => one.away - other.away || compare(one.name, other.name));
  const told: string[] = [];
  let best = 0;
  for (const { name, away } of near) {
    // What differs by case and marks alone was surely meant; others would only distract.
    if (told.length === namesTold || (told.length > 0 && best === 0 && away > 0)) break;
    if (!fits(name)) continue;
    if (told.length === 0) best = away;
    told.push(name);
  }
  return told;
}

/** For the end of a sentence that says that there is no such name. */
export function didYouMean(names: readonly string[]): string {
  if (names.length === 0) return "";
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? "";
  return `; did you mean ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}?`;
}

/**
 * For the end of a refusal: arguments that were given, are not known, and are close to one that was left out. Most
 * schemas let unknown arguments pass, so that what is complained of is the missing one alone.
 */
export function misspeltArguments(given: readonly string[], known: readonly string[]): string {
  const [has, knows] = [new Set(given), new Set(known)];
  const left = known.filter((name) => !has.has(name));
  return given
    .filter((name) => !knows.has(name))
    .slice(0, unknownArguments)
    .map((name) => ({ name, near: nearNames(name, left) }))
    .filter(({ near }) => near.length > 0)
    .slice(0, namesTold)
    .map(({ name, near }) => `there is no argument \`${name}\`${didYouMean(near)}`)
    .map((sentence, index) => (index === 0 ? `; ${sentence}` : ` T${sentence.slice(1)}`))
    .join("");
}

/** Case, marks between words and the firmware's `self.` are what people get wrong first. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "_")
    .replaceAll(/^_|_$/g, "")
    .replace(/^self_/, "");
}

function howFar(wanted: string, name: string): number | undefined {
  // One letter in five: more is another word (`on` for `off`), and no help.
  const most = Math.min(3, Math.max(1, Math.floor(wanted.length / 5)));
  const away = editDistance(wanted, name, most);
  if (away <= most) return away;
  if (wanted.length < shortestPart) return undefined;
  return name.endsWith(`_${wanted}`) || name.startsWith(`${wanted}_`) ? partOf : undefined;
}

/** Letters to add, leave out, replace or swap with their neighbour; more than `most` is told as one more. */
export function editDistance(wanted: string, name: string, most: number): number {
  if (Math.abs(wanted.length - name.length) > most) return most + 1;
  const [one, other] = withoutCommonEnds(wanted, name);
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  let row: number[] = [];
  for (let i = 1; i <= one.length; i += 1) {
    // Further from the diagonal than `most` it would be more than that anyway.
    const from = Math.max(1, i - most);
    const to = Math.min(other.length, i + most);
    row[from - 1] = from === 1 ? i : most + 1;
    let least = at(row, from - 1);
    for (let j = from; j <= to; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let away = Math.min(at(above, j - 1) + (same ? 0 : 1), at(above, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        away = Math.min(away, at(before, j - 2) + 1);
      row[j] = away;
      least = Math.min(least, away);
    }
    row[to + 1] = most + 1;
    if (least > most) return most + 1;
    [before, above, row] = [above, row, before];
  }
  return at(above, other.length);
}

/** Names of one house begin alike: only what differs is worth comparing. */
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
