/** Cursors of lists that are ordered by id: the last id of a page, in a form that no client mistakes for an id. */
import { TendonError } from "./errors.ts";

export function writeCursor(id: string): string {
  return Buffer.from(JSON.stringify([id])).toString("base64url");
}

export function readCursor(cursor: string): string {
  try {
    const [id, ...rest] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof id === "string" && rest.length === 0) return id;
  } catch {
    // Reported below.
  }
  throw new TendonError("bad_request", "`cursor` is not valid. Use the `nextCursor` of an earlier page.");
}
