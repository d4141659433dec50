/** The replies to a board. The board returns them unchanged as its tool's result, so they are short and always JSON. */
import { visionLimits } from "@tendon/protocol";

export function successReply(text: string): string {
  return JSON.stringify({ success: true, result: fitted(text) });
}

export function failureReply(message: string): string {
  return JSON.stringify({ success: false, message: fitted(message) });
}

const envelopeBytes = 64;
const ellipsis = "…";

/** Truncates a text that is too long, itself or encoded as JSON, between two characters. */
function fitted(text: string): string {
  const maxBytes = visionLimits.explanationBytes.max - Buffer.byteLength(ellipsis);
  const maxJsonBytes = visionLimits.replyBytes.max - envelopeBytes;
  let bytes = 0;
  let inJson = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    inJson += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > maxBytes || inJson > maxJsonBytes) return `${text.slice(0, end).trimEnd()}${ellipsis}`;
    end += character.length;
  }
  return text;
}

/** Removes control characters from outside text. Lone surrogates become U+FFFD. */
export function plainText(text: string): string {
  const wellFormed = Buffer.from(text).toString();
  return wellFormed
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}
