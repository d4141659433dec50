/** Output of the commands. Data goes to stdout; colour only on a terminal; `--json` prints the REST body unchanged. */
import { stripVTControlCharacters, styleText } from "node:util";

const { NO_COLOR = "", TERM } = process.env;
const isColoured = process.stdout.isTTY && NO_COLOR === "" && TERM !== "dumb";
const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
  isColoured ? styleText(format, text) : text;

export const colours = {
  bold: style("bold"),
  dim: style("dim"),
  green: style("green"),
  red: style("red"),
  yellow: style("yellow"),
};

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined));
}

export function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The library compares each row with all others: 22,000 rows take a minute. */
const maxLibraryRows = 200;

/** Prints a table. Callers pass device texts through `plain`, so that control characters never reach the terminal. */
export async function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  if (rows.length > maxLibraryRows) {
    print(longTable([head.map((heading) => colours.dim(heading)), ...rows]));
    return;
  }
  const { default: Table } = await import("cli-table3");
  const none = { top: "", "top-mid": "", "top-left": "", "top-right": "" };
  const table = new Table({
    head: head.map((heading) => colours.dim(heading)),
    chars: {
      ...none,
      bottom: "",
      "bottom-mid": "",
      "bottom-left": "",
      "bottom-right": "",
      left: "",
      "left-mid": "",
      mid: "",
      "mid-mid": "",
      right: "",
      "right-mid": "",
      middle: "  ",
    },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  for (const row of rows) table.push([...row]);
  print(table.toString().replaceAll(/ +$/gm, ""));
}

/** The same look as the library's, in time that grows with the number of rows. */
function longTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, text] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, displayWidth(text));
  const line = (row: readonly string[]) =>
    row.map((text, column) => text + " ".repeat((widths[column] ?? 0) - displayWidth(text))).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}

const wide =
  /[\p{Emoji_Presentation}\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff01-\uff60]/u;
const marks = /[\p{Mark}\p{Cf}]/gu;

/** The number of columns that a text takes on a terminal. */
function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of stripVTControlCharacters(text).replaceAll(marks, ""))
    width += wide.test(character) ? 2 : 1;
  return width;
}

/** Makes a device's text safe to print: one line without control characters. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
}

/** Like `plain`, for text with several lines. */
export function plainLines(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g, "");
}

export function ago(iso: string | null, now: number): string {
  return iso === null ? "never" : `${span(now - Date.parse(iso))} ago`;
}

export function ahead(iso: string, now: number): string {
  return `in ${span(Date.parse(iso) - now)}`;
}

function span(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
