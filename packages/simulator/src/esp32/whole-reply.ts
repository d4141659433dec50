import { type ByteText, fromBuffer, fromText } from "./byte-text.ts";
import type { HttpAnswer } from "./http.ts";
import type { Machine } from "./machine.ts";

/**
 * From so many bytes on, a reply that the firmware reads whole is never read to its end: its HTTP client stops
 * receiving until some bytes are taken out, and the reader takes none out before the last has come.
 */
export const wholeReplyLimit = 8192;

export async function readWholeReply(machine: Machine, answer: HttpAnswer): Promise<ByteText> {
  const body = await answer.read(wholeReplyLimit - 1);
  if (body.kind === "too-long") {
    return await machine.hang(`an HTTP reply of ${wholeReplyLimit} bytes or more`);
  }
  // A reply that breaks off is an empty text on the device, not an error.
  return body.kind === "whole" ? fromBuffer(body.bytes) : fromText("");
}
