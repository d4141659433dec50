// The figures as the table of docs/operations/reliability.md.
import fs from "node:fs";

const begin = "<!-- faults: written by `npm run faults -- --write` -->";
const end = "<!-- end of faults -->";

export function tableOf(rows) {
  const lines = rows.map((row) => {
    const never = row.never === 0 ? "0" : `${row.never} (${row.knownToHaveRun} ran)`;
    const cells = [
      row.title,
      `${row.plainFailed} of ${row.plainTotal}`,
      seconds(row.gapMs),
      seconds(row.slowestMs),
      never,
      row.target,
      row.met ? "yes" : "no",
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| fault | plain calls failed | longest gap | slowest keyed success | keys that never succeeded | target | met |",
    "|---|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** Replaces the table between its two marks. */
export function writeTable(file, rows, { count, rate }) {
  const text = fs.readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to === -1) throw new Error(`${file} has no place for the table`);
  const calls = rows.reduce((sum, { plainTotal, keyedTotal }) => sum + plainTotal + keyedTotal, 0);
  const twice = rows.reduce((sum, row) => sum + row.twice, 0);
  const notRun = rows.reduce((sum, row) => sum + row.notRun, 0);
  const summary = `${count} boards, ${rate} calls a second, ${calls} calls: ${twice} ran twice, ${notRun} were reported done without having run.`;
  fs.writeFileSync(file, `${text.slice(0, from)}${begin}\n${summary}\n\n${tableOf(rows)}\n${text.slice(to)}`);
}

function seconds(ms) {
  return `${(ms / 1_000).toFixed(1)} s`;
}
