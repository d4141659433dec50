// Two reports side by side. Ratios to the baseline are compared, because absolute figures depend on the machine.
import { comparable, figure } from "./rows.mjs";

/** A change below this is never called one. */
const leastChange = 0.05;

/** Rows that both reports have. `factor`: the new figure divided by the old one. */
export function compareReports(older, newer) {
  const before = new Map(older.rows.map((row) => [row.name, row]));
  const result = [];
  for (const row of newer.rows) {
    const old = before.get(row.name);
    if (old === undefined) continue;
    const sameKind = (old.ratio === undefined) === (row.ratio === undefined);
    const [was, is] = sameKind ? [comparable(old), comparable(row)] : [old.value, row.value];
    const factor = is.median / was.median;
    const noise = Math.max(leastChange, was.spread + is.spread);
    result.push({
      name: row.name,
      was: was.median,
      is: is.median,
      factor,
      noise,
      change: changeOf(row, factor, noise),
    });
  }
  return result;
}

function changeOf({ better }, factor, noise) {
  if (Math.abs(Math.log(factor)) <= Math.log(1 + noise)) return "same";
  return factor < 1 === (better === "less") ? "better" : "worse";
}

/** Why the figures of two reports may differ although the program does not, or `undefined`. */
export function differenceOf(older, newer) {
  const parts = [];
  if (older.scale !== newer.scale) parts.push(`one run is ${older.scale}, the other ${newer.scale}`);
  for (const what of ["processor", "node"])
    if (older.machine?.[what] !== newer.machine?.[what])
      parts.push(`${what} ${older.machine?.[what]} and ${newer.machine?.[what]}`);
  return parts.length === 0 ? undefined : `Compare with care: ${parts.join("; ")}.`;
}

export function comparisonLines(changes) {
  const width = Math.max(...changes.map(({ name }) => name.length), 4) + 2;
  const cells = (name, ...others) => name.padEnd(width) + others.map((cell) => cell.padStart(12)).join("");
  return [
    cells("row", "old", "new", "new / old", "noise", ""),
    ...changes.map(({ name, was, is, factor, noise, change }) =>
      cells(
        name,
        figure(was),
        figure(is),
        factor.toFixed(2),
        `± ${Math.round(noise * 100)} %`,
        change === "same" ? "" : change,
      ).trimEnd(),
    ),
  ];
}
