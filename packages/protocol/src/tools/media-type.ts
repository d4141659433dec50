/**
 * Detects media types by their signature. Devices often leave `mimeType` empty or wrong, and model providers reject a
 * whole request because of one image with a wrong type.
 */

/** `undefined` stands for any byte. */
type Signature = readonly (number | undefined)[];

const anyFour: Signature = [undefined, undefined, undefined, undefined];

const signatures: Readonly<Record<"image" | "audio", readonly (readonly [string, Signature])[]>> = {
  image: [
    ["image/jpeg", [0xff, 0xd8, 0xff]],
    ["image/png", [0x89, ...ascii("PNG\r\n"), 0x1a, 0x0a]],
    ["image/gif", ascii("GIF87a")],
    ["image/gif", ascii("GIF89a")],
    ["image/webp", [...ascii("RIFF"), ...anyFour, ...ascii("WEBP")]],
    ["image/avif", [...anyFour, ...ascii("ftypavif")]],
    // Many formats start with these two letters, so the reserved fields, which are always zero, are compared too.
    ["image/bmp", [...ascii("BM"), ...anyFour, 0, 0, 0, 0]],
  ],
  audio: [
    ["audio/wav", [...ascii("RIFF"), ...anyFour, ...ascii("WAVE")]],
    ["audio/ogg", ascii("OggS")],
    ["audio/flac", ascii("fLaC")],
    ["audio/mpeg", ascii("ID3")],
  ],
};

const longestSignature = 12;

/** The media type of base64 data by its first bytes; `undefined` if unknown. */
export function mediaTypeOf(kind: "image" | "audio", base64: string): string | undefined {
  const head = decodeHead(base64);
  return signatures[kind].find(([, signature]) => begins(head, signature))?.[0];
}

function begins(head: readonly number[], signature: Signature): boolean {
  return (
    signature.length <= head.length && signature.every((byte, at) => byte === undefined || byte === head[at])
  );
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function decodeHead(base64: string): number[] {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of base64.slice(0, (longestSignature / 3) * 4)) {
    const value = alphabet.indexOf(character);
    if (value === -1) break;
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
    }
  }
  return bytes;
}

function ascii(text: string): number[] {
  return [...text].map((character) => character.charCodeAt(0));
}
