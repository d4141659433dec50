/**
 * Whole lists as CSV or as JSON lines, for a client whose `Accept` header asks for one of them. The pages are read while
 * the client reads the answer, so that a list of a million rows needs the memory of one page.
 */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import Type, { type TSchema } from "typebox";

const csvType = "text/csv";
const linesType = "application/x-ndjson";
type Format = typeof csvType | typeof linesType;

/** The longest page that a list returns. */
const pageRows = 1_000;

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor?: string | undefined;
}

export interface Export<Row> {
  /** The name of the downloaded file, without its ending. */
  readonly name: string;
  readonly page: (position: { readonly cursor?: string; readonly limit: number }) => Promise<Page<Row>>;
  /** The columns of the CSV, in order. Objects and lists become JSON. */
  readonly columns: Readonly<Record<string, (row: Row) => unknown>>;
}

/** The answer of a list that can be exported, for the description. */
export function exportable<Schema extends TSchema>(list: Schema) {
  const rows = { schema: Type.String() };
  const content = { "application/json": { schema: list }, [csvType]: rows, [linesType]: rows };
  return { description: "A page, or all rows as a file", content };
}

/** The format that the client asks for; `undefined` for an ordinary page. */
export function exportFormat(accept = ""): Format | undefined {
  return ([csvType, linesType] as const).find((type) => accept.toLowerCase().includes(type));
}

/** Sends all pages. The first one is read before the answer begins, so that an error has its own status. */
export async function sendExport<Row>(
  reply: FastifyReply,
  format: Format,
  list: Export<Row>,
): Promise<FastifyReply> {
  const first = await list.page({ limit: pageRows });
  const write = format === csvType ? csvWriter(list.columns) : { head: "", row: jsonLine };
  const ending = format === csvType ? "csv" : "ndjson";
  return await reply
    .header("content-type", `${format}; charset=utf-8`)
    .header("content-disposition", `attachment; filename="${list.name}.${ending}"`)
    .header("cache-control", "no-store")
    .send(Readable.from(chunks(first, list, write), { objectMode: false }));
}

async function* chunks<Row>(
  first: Page<Row>,
  list: Export<Row>,
  { head, row }: { readonly head: string; readonly row: (row: Row) => string },
): AsyncGenerator<string> {
  yield head;
  let page = first;
  for (;;) {
    yield page.rows.map(row).join("");
    if (page.nextCursor === undefined) return;
    page = await list.page({ cursor: page.nextCursor, limit: pageRows });
  }
}

function jsonLine(row: unknown): string {
  return `${JSON.stringify(row)}\n`;
}

function csvWriter<Row>(columns: Export<Row>["columns"]) {
  const cells = Object.values(columns);
  return {
    head: `${Object.keys(columns).join(",")}\r\n`,
    row: (row: Row) => `${cells.map((cell) => csvCell(cell(row))).join(",")}\r\n`,
  };
}

/** A text that a spreadsheet would run as a formula gets an apostrophe: names come from devices and callers. */
function csvCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
