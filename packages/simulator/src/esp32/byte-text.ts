import { isUtf8 } from "node:buffer";

/**
 * Text as the firmware holds it: a run of bytes, not of characters. Each JavaScript character stands for one
 * byte (latin1), so lengths are byte counts (the paging rule counts bytes) and text that is not valid UTF-8
 * passes through the device unharmed, as it does on the real one.
 */
declare const bytesOnly: unique symbol;
export type ByteText = string & { readonly [bytesOnly]: true };

const asciiOnly = /^[\0-\x7f]*$/;
/** Added to a byte that is not UTF-8, it makes a low surrogate, which well-formed text never holds alone. */
const byteMark = 0xdc00;
const markedByte = /[\u{dc80}-\u{dcff}]/gu;
/** A well-formed UTF-8 sequence (RFC 3629), or else a single byte. */
const wellFormed =
  /[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[\x80-\xff]/g;

export function fromText(text: string): ByteText {
  if (asciiOnly.test(text)) return text as ByteText;
  const bytes: string[] = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(markedByte)) {
    bytes.push(encoded(text.slice(at, index)), String.fromCharCode(found.charCodeAt(0) - byteMark));
    at = index + found.length;
  }
  return (bytes.join("") + encoded(text.slice(at))) as ByteText;
}

function encoded(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

export function fromBuffer(buffer: Buffer): ByteText {
  return buffer.toString("latin1") as ByteText;
}

export function toBuffer(bytes: ByteText): Buffer {
  return Buffer.from(bytes, "latin1");
}

/** Text for tools and listeners. Bytes that are not UTF-8 become lone surrogates, which fromText() turns back. */
export function toText(bytes: ByteText): string {
  if (asciiOnly.test(bytes)) return bytes;
  const buffer = toBuffer(bytes);
  if (isUtf8(buffer)) return buffer.toString("utf8");
  return bytes.replace(wellFormed, (found) =>
    found.length > 1
      ? Buffer.from(found, "latin1").toString("utf8")
      : String.fromCharCode(found.charCodeAt(0) + byteMark),
  );
}

/** Joins bytes without escaping anything; the literal parts must be ASCII. */
export function wire(parts: TemplateStringsArray, ...values: readonly (ByteText | number)[]): ByteText {
  let joined = "";
  parts.forEach((part, index) => {
    joined += part + String(values[index] ?? "");
  });
  return joined as ByteText;
}

/** What a C string keeps: everything before the first NUL. */
export function cutAtNul(bytes: ByteText): ByteText {
  const end = bytes.indexOf("\0");
  return end < 0 ? bytes : (bytes.slice(0, end) as ByteText);
}
