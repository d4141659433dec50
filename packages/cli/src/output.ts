/** Output of the commands. Data goes to stdout; colour only on a terminal; `--json` prints the REST body unchanged. */
import { styleText } from "node:util";

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

/** Prints a table. Callers pass device texts through `plain`, so that control characters never reach the terminal. */
export async function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
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
  if (iso === null) return "never";
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h ago`
    : `${Math.round(seconds / 86_400)} days ago`;
}
