import { figure, spreadText, targetText } from "./rows.mjs";

/** The lines of the table; rows of a group stand together. */
export function tableLines(rows) {
  if (rows.length === 0) return [];
  const nameWidth = Math.max(...rows.map(({ name }) => name.length), 4) + 2;
  const cells = (name, ...others) =>
    name.padEnd(nameWidth) + others.map((cell, at) => cell.padStart(at === 0 ? 14 : 13)).join("");
  const lines = [cells("row", "Tendon", "baseline", "ratio", "target", "spread", "")];
  for (const row of rows) {
    const { name, unit, value, baseline, ratio, met, noise } = row;
    const state = met === undefined ? "" : met ? "met" : "MISSED";
    lines.push(
      cells(
        name,
        `${figure(value.median)} ${unit}`,
        baseline === undefined ? "" : figure(baseline.median),
        ratio === undefined ? "" : ratio.median.toFixed(2),
        targetText(row),
        spreadText(row),
        `${state}${noise === undefined ? "" : " noisy"}`,
      ).trimEnd(),
    );
  }
  return lines;
}
