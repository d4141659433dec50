/**
 * Text as the firmware holds it: a run of bytes, not of characters. Each JavaScript character stands for one
 * byte (latin1), so lengths are byte counts (the paging rule counts bytes) and text that is not valid UTF-8
 * passes through the device unharmed, as it does on the real one.
 */
declare const bytesOnly: unique symbol;
export type ByteText = string & { readonly [bytesOnly]: true };

const asciiOnly = /^[\0-\x7f]*$/;

export function fromText(text: string): ByteText {
  const bytes = asciiOnly.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
  return bytes as ByteText;
}

export function fromBuffer(buffer: Buffer): ByteText {
  return buffer.toString("latin1") as ByteText;
}

export function toBuffer(bytes: ByteText): Buffer {
  return Buffer.from(bytes, "latin1");
}

export function toText(bytes: ByteText): string {
  return asciiOnly.test(bytes) ? bytes : toBuffer(bytes).toString("utf8");
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
