/**
 * Device lists for import: CSV with a header, or one JSON object per line. The file is read line by line, so its
 * length does not matter. Problems name the line and never quote it, because lines contain keys.
 */
import fs from "node:fs";
import readline from "node:readline";
import { type ImportRow, isMacAddress, macMistake, normaliseDeviceId } from "@tendon/protocol";

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
/** Ids in this column must be MAC addresses; the other id columns accept any device id. */
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
    if (column === undefined)
      return `the first line must name the columns: ${known}${unknownName(name, names)}`;
    if (header.includes(column)) return `the column ${column} appears twice`;
    header.push(column);
  }
  const asMac = names.some((name) => plainName(name) === macColumn);
  return header.includes("id")
    ? { columns: header, asMac }
    : `the first line must name the columns: ${known}`;
}

/** Names what is unknown beside known names. A line without any is no header: it may contain keys. */
function unknownName(name: string, names: readonly string[]): string {
  const isUnknown = columns[plainName(name)] === undefined;
  const isHeader = names.some((other) => columns[plainName(other)] !== undefined);
  return isUnknown && isHeader && /^[\w .-]{1,24}$/.test(name) ? `; \`${name}\` is unknown` : "";
}

function readCsv(line: string, { columns: header, asMac }: Header) {
  const fields = splitCsvLine(line);
  if (fields === undefined) return { problem: "unbalanced quotes" };
  if (fields.length !== header.length)
    return { problem: `${fields.length} fields, but the header has ${header.length}` };
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
    if (column === undefined || column in fields)
      return {
        problem: `allowed fields are ${known}, each at most once${unknownName(name, Object.keys(value))}`,
      };
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
  if (id === undefined || deviceId === undefined) return { problem: "the id is missing or invalid" };
  const mistake = macMistake(id);
  if (mistake !== undefined) return { problem: `the id looks like a MAC address, but ${mistake}` };
  if (asMac && !isMacAddress(id))
    return { problem: "the column is named mac, but the id is not a MAC address" };
  if (serial !== undefined && !/^[\x21-\x7e]{1,64}$/.test(serial))
    return { problem: "the serial number must have 1 to 64 characters without spaces" };
  if (hmacKey !== undefined && !/^[0-9a-fA-F]{64}$/.test(hmacKey))
    return { problem: "the key must be 32 bytes in hex" };
  if (hmacKey !== undefined && serial === undefined) return { problem: "a key needs a serial number" };
  if (tags === undefined) return { problem: "at most 32 tags, each of 1 to 64 letters, digits and _.:-" };
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

/** A list, or one text with tags separated by spaces, semicolons or bars. */
function readTags(value: unknown): string[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : (text(value) ?? "").split(/[\s;|]+/);
  const tags = list.filter((tag) => tag !== "");
  const valid = tags.every((tag) => typeof tag === "string" && /^[A-Za-z0-9_.:-]{1,64}$/.test(tag));
  return valid && tags.length <= 32 ? [...new Set(tags as string[])] : undefined;
}

/** The fields of one line of CSV; `undefined` where a quote is opened and not closed, or stands where none may. */
function splitCsvLine(line: string): string[] | undefined {
  const fields: string[] = [];
  const field = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y;
  for (;;) {
    const match = field.exec(line);
    if (match === null) return undefined;
    const [, quoted, bare = "", end] = match;
    fields.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"'));
    if (end === "") return fields;
  }
}
