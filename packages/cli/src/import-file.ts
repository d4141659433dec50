/**
 * Lists of devices as factories have them: CSV with a header, or a JSON object a line. Read line by line, however
 * long the file is. What is wrong is told with its line, and never with its content: there are keys in it.
 */
import fs from "node:fs";
import readline from "node:readline";
import { type ImportRow, isMacAddress, macMistake, normaliseDeviceId } from "@tendon/protocol";
import { splitCsvLine } from "./csv-line.ts";

export type ImportLine =
  | { readonly line: number; readonly row: ImportRow }
  | { readonly line: number; readonly problem: string };

type Fields = { readonly [column: string]: unknown };

interface Header {
  readonly columns: readonly (keyof ImportRow)[];
  readonly asMac: boolean;
}

const columns: Readonly<Record<string, keyof ImportRow>> = {
  id: "id",
  deviceid: "id",
  mac: "id",
  serial: "serial",
  serialnumber: "serial",
  hmackey: "hmacKey",
  key: "hmacKey",
  tags: "tags",
};
/** Ids under this name are MAC addresses; under the others, a device's own id counts too. */
const macColumn = "mac";
const known = "id, serial, hmac_key, tags";

export async function* readImport(file: string): AsyncGenerator<ImportLine> {
  const lines = readline.createInterface({
    input: fs.createReadStream(file, "utf8"),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  let header: Header | undefined;
  let number = 0;
  for await (const text of lines) {
    number += 1;
    const line = number === 1 ? text.replace(/^\uFEFF/, "") : text;
    if (line.trim() === "") continue;
    if (header === undefined && line.trimStart().startsWith("{")) {
      yield { line: number, ...readJson(line) };
    } else if (header === undefined) {
      const read = readHeader(line);
      if (typeof read === "string") {
        yield { line: number, problem: read };
        return;
      }
      header = read;
    } else {
      yield { line: number, ...readCsv(line, header) };
    }
  }
}

function readHeader(line: string): Header | string {
  const names = splitCsvLine(line) ?? [];
  const header: (keyof ImportRow)[] = [];
  for (const name of names) {
    const column = columns[plainName(name)];
    if (column === undefined) return `the first line names the columns: ${known}`;
    if (header.includes(column)) return `the column ${column} is there twice`;
    header.push(column);
  }
  const asMac = names.some((name) => plainName(name) === macColumn);
  return header.includes("id") ? { columns: header, asMac } : `the first line names the columns: ${known}`;
}

function readCsv(line: string, { columns: header, asMac }: Header) {
  const fields = splitCsvLine(line);
  if (fields === undefined) return { problem: "a quote is not closed" };
  if (fields.length !== header.length)
    return { problem: `${fields.length} fields where the header has ${header.length}` };
  return readRow(Object.fromEntries(header.map((column, index) => [column, fields[index]])), asMac);
}

function readJson(line: string) {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: "not a JSON object" };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "not a JSON object" };
  const fields: Record<string, unknown> = {};
  let asMac = false;
  for (const [name, content] of Object.entries(value)) {
    const column = columns[plainName(name)];
    if (column === undefined || column in fields) return { problem: `fields are ${known}, each once` };
    fields[column] = content;
    asMac ||= plainName(name) === macColumn;
  }
  return readRow(fields, asMac);
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, "");
}

function readRow(fields: Fields, asMac: boolean): { readonly row: ImportRow } | { readonly problem: string } {
  const id = text(fields["id"]);
  const serial = text(fields["serial"]);
  const hmacKey = text(fields["hmacKey"]);
  const tags = readTags(fields["tags"]);
  const deviceId = id === undefined ? undefined : normaliseDeviceId(id);
  if (id === undefined || deviceId === undefined)
    return { problem: "the id is missing, or is not a device's id" };
  const mistake = macMistake(id);
  if (mistake !== undefined) return { problem: `the id looks like a MAC address, but ${mistake}` };
  if (asMac && !isMacAddress(id))
    return { problem: "the id is no MAC address, and the column is called mac" };
  if (serial !== undefined && !/^[\x21-\x7e]{1,64}$/.test(serial))
    return { problem: "a serial number has 1 to 64 characters without spaces" };
  if (hmacKey !== undefined && !/^[0-9a-fA-F]{64}$/.test(hmacKey))
    return { problem: "the key is not 32 bytes in hex" };
  if (hmacKey !== undefined && serial === undefined)
    return { problem: "a key without a serial number proves nothing" };
  if (tags === undefined) return { problem: "tags have letters, digits and _.:- only, 64 each, 32 at most" };
  return {
    row: {
      id: deviceId,
      ...(serial === undefined ? {} : { serial }),
      ...(hmacKey === undefined ? {} : { hmacKey }),
      ...(tags.length === 0 ? {} : { tags }),
    },
  };
}

function text(value: unknown): string | undefined {
  if (typeof value !== "string") return value === undefined || value === null ? undefined : "?";
  return value.trim() === "" ? undefined : value.trim();
}

/** A list, or one text with spaces, semicolons or bars between them. */
function readTags(value: unknown): string[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : (text(value) ?? "").split(/[\s;|]+/);
  const tags = list.filter((tag) => tag !== "");
  const sound = tags.every((tag) => typeof tag === "string" && /^[A-Za-z0-9_.:-]{1,64}$/.test(tag));
  return sound && tags.length <= 32 ? [...new Set(tags as string[])] : undefined;
}
