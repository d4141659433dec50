/** The words a board gets back. It hands them on as they are, so they are short, readable and always JSON. */
import { visionLimits } from "@tendon/protocol";

export function successReply(text: string): string {
  return JSON.stringify({ success: true, result: fitted(text) });
}

export function failureReply(message: string): string {
  return JSON.stringify({ success: false, message: fitted(message) });
}

const envelopeBytes = 64;
const ellipsis = "…";

/** Cut between characters where it would be too long, in itself or as it is written in JSON. */
function fitted(text: string): string {
  const room = visionLimits.explanationBytes.max - Buffer.byteLength(ellipsis);
  const roomInJson = visionLimits.replyBytes.max - envelopeBytes;
  let bytes = 0;
  let inJson = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    inJson += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > room || inJson > roomInJson) return `${text.slice(0, end).trimEnd()}${ellipsis}`;
    end += character.length;
  }
  return text;
}

/** Text from elsewhere without what steers terminals and screens; halves of characters become U+FFFD. */
export function plainText(text: string): string {
  const wellFormed = Buffer.from(text).toString();
  return wellFormed
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}
