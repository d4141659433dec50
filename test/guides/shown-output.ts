/**
 * Compares what a guide shows with what was printed, in form: times, ids, codes and addresses are different at every
 * run. What stood in their place is remembered, because a reader types it in again later: `approve 019a3c1e-…`.
 */

/** Texts of the guide and what stands for them in this run. */
export type Bindings = Map<string, string>;

interface Volatile {
  readonly shown: RegExp;
  readonly real: string;
}

const octet = String.raw`\d{1,3}`;
/** In the order in which they are looked for: one alternative of a regular expression each. */
const volatiles: readonly Volatile[] = [
  // `019a3c1e-…`, `tdn_…`: the beginning of something that goes on.
  { shown: /[\w.+/=-]+…/, real: String.raw`[\w.+/=-]+` },
  { shown: /\d+ (?:s|min|h|days) ago/, real: String.raw`\d+ (?:s|min|h|days) ago` },
  // The link is for a terminal's eyes only; in a pipe the line says how to get one.
  {
    shown: /#code=\w{4}(?:-\w{4}){3}/,
    real: String.raw`(?:#code=\w{4}(?:-\w{4}){3}| {2}\(.npx tendon console. prints a link that signs in\))`,
  },
  {
    shown: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/,
    real: String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`,
  },
  { shown: /\b\d{6}\b/, real: String.raw`\d{6}` },
  { shown: /\b192\.168\.\d{1,3}\.\d{1,3}\b/, real: `${octet}(?:\\.${octet}){3}` },
];
const anyVolatile = new RegExp(volatiles.map(({ shown }) => `(${shown.source})`).join("|"), "g");

/** The differences as lines, none where the output is as shown. */
export function differences(shown: string, printed: string, bindings: Bindings): string[] {
  const real = printed.trimEnd().split("\n");
  const wrong: string[] = [];
  let at = 0;
  let skips = false;
  for (const line of shown.trimEnd().split("\n")) {
    // A line of dots stands for any lines.
    if (line.trim() === "…") {
      skips = true;
      continue;
    }
    const pattern = patternOf(line);
    const found = real.findIndex(
      (other, index) => index >= at && (skips || index === at) && pattern.test(other),
    );
    if (found < 0) return [...wrong, `- ${line}`, ...real.slice(at).map((other) => `+ ${other}`)];
    remember(line, pattern.exec(real[found] ?? "") ?? [], bindings);
    at = found + 1;
    skips = false;
  }
  if (!skips) wrong.push(...real.slice(at).map((line) => `+ ${line}`));
  return wrong;
}

/** The text with what this run printed in place of what the guide shows. */
export function withBindings(text: string, bindings: Bindings): string {
  return [...bindings].reduce((sum, [shown, real]) => sum.replaceAll(shown, real), text);
}

/** Columns are as wide as what stands in them, so any space is as good as any other. */
function patternOf(line: string): RegExp {
  let pattern = "";
  let from = 0;
  for (const match of line.matchAll(anyVolatile)) {
    const which = match.slice(1).findIndex((group) => group !== undefined);
    pattern += `${literal(line.slice(from, match.index))}(${volatiles[which]?.real ?? ""})`;
    from = match.index + match[0].length;
  }
  return new RegExp(`^${pattern}${literal(line.slice(from))}\\s*$`);
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`);
}

function remember(line: string, [, ...real]: readonly string[], bindings: Bindings): void {
  for (const [index, match] of [...line.matchAll(anyVolatile)].entries()) {
    const found = real[index];
    if (found !== undefined && !/ ago$/.test(found)) bindings.set(match[0], found);
  }
}

/** The same for JSON: the same members with values of the same kind; texts and numbers may be others. */
export function differencesInJson(shown: unknown, printed: unknown, at = ""): string[] {
  if (kindOf(shown) !== kindOf(printed)) return [`${at}: ${kindOf(shown)} is shown, ${kindOf(printed)} came`];
  if (Array.isArray(shown) && Array.isArray(printed)) {
    if (shown.length === 0 && printed.length > 0) return [`${at}: none is shown, ${printed.length} came`];
    // A list may be longer than the guide shows it: each shown element stands for one that is there.
    return shown.flatMap((one, index) => {
      const all = printed.map((other) => differencesInJson(one, other, `${at}/${index}`));
      return all.some((found) => found.length === 0)
        ? []
        : (all[index] ?? all[0] ?? [`${at}/${index}: missing`]);
    });
  }
  if (isRecord(shown) && isRecord(printed)) {
    const names = [...new Set([...Object.keys(shown), ...Object.keys(printed)])];
    return names.flatMap((name) => {
      if (!(name in printed)) return [`${at}/${name} is shown and did not come`];
      if (!(name in shown)) return [`${at}/${name} came and is not shown`];
      return differencesInJson(shown[name], printed[name], `${at}/${name}`);
    });
  }
  const exact = typeof shown === "boolean" || (typeof shown === "string" && /^[a-z_.]+$/.test(shown));
  return exact && shown !== printed ? [`${at}: ${String(shown)} is shown, ${String(printed)} came`] : [];
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return kindOf(value) === "object";
}
