import { type ByteText, fromBuffer, fromText } from "./byte-text.ts";
import type { HttpAnswer } from "./http.ts";
import type { Machine } from "./machine.ts";

/**
 * From this size on, the firmware never finishes reading a reply that it reads as a whole: its HTTP client stops receiving
 * until some bytes are consumed, but the reader consumes none before the last has arrived.
 */
export const wholeReplyLimit = 8192;

export async function readWholeReply(machine: Machine, answer: HttpAnswer): Promise<ByteText> {
  const body = await answer.read(wholeReplyLimit - 1);
  if (body.kind === "too-long") {
    return await machine.hang(`an HTTP reply of ${wholeReplyLimit} bytes or more`);
  }
  // On the device, a reply that breaks off is an empty text, not an error.
  return body.kind === "whole" ? fromBuffer(body.bytes) : fromText("");
}
