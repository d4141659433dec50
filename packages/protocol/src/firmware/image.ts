/**
 * Firmware images as the chip's build system writes them: a header, segments of code and data, a checksum, and usually a
 * digest. The first segment starts with a description of the application, which has its version and project. The bytes
 * are untrusted.
 */
import { type Decoded, invalid, ok } from "../outcome.ts";

export interface ImageHeader {
  readonly chip: string;
  readonly version: string;
  readonly project: string;
  /** Offset of the end of the image. A signature may follow. */
  readonly end: number;
  /** Whether the SHA-256 of everything before `end` follows. */
  readonly digested: boolean;
}

const imageMagic = 0xe9;
const applicationMagic = 0xabcd5432;
const headerBytes = 24;
const segmentHeaderBytes = 8;
const applicationAt = headerBytes + segmentHeaderBytes;
const applicationBytes = 256;
const textBytes = 32;
const mostSegments = 16;
const checksumSeed = 0xef;
const alignment = 16;
export const imageDigestBytes = 32;

const chips: ReadonlyMap<number, string> = new Map([
  [0x00, "esp32"],
  [0x02, "esp32s2"],
  [0x05, "esp32c3"],
  [0x09, "esp32s3"],
  [0x0c, "esp32c2"],
  [0x0d, "esp32c6"],
  [0x10, "esp32h2"],
  [0x12, "esp32p4"],
  [0x14, "esp32c61"],
  [0x17, "esp32c5"],
  [0x19, "esp32h21"],
  [0x1c, "esp32h4"],
]);

/** Reads everything except the digest. The caller compares it, because this package computes no digests. */
export function readImage(bytes: Uint8Array): Decoded<ImageHeader> {
  if (bytes[0] !== imageMagic) return invalid("it does not begin as a firmware image does (0xE9)");
  if (bytes.length < applicationAt + applicationBytes) return invalid("it is too short for a firmware image");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(applicationAt, true) !== applicationMagic) {
    return invalid(
      "it does not describe an application: a bootloader, or all partitions in one file, cannot be offered",
    );
  }
  const chip = chips.get(view.getUint16(12, true));
  if (chip === undefined) return invalid("it is for a chip that is not known here");
  const end = endOf(bytes, view);
  if (end === undefined) return invalid("it is cut short, or damaged");
  const digested = bytes[headerBytes - 1] === 1;
  if (digested && bytes.length < end + imageDigestBytes)
    return invalid("it is cut short: its digest is missing");
  const version = textAt(bytes, applicationAt + 16);
  const project = textAt(bytes, applicationAt + 48);
  return ok({ chip, version, project, end, digested });
}

/** Reads the segments; `undefined` if they do not fit the file or their checksum is wrong. */
function endOf(bytes: Uint8Array, view: DataView): number | undefined {
  const segments = bytes[1] ?? 0;
  if (segments < 1 || segments > mostSegments) return undefined;
  let at = headerBytes;
  let checksum = checksumSeed;
  for (let index = 0; index < segments; index += 1) {
    if (at + segmentHeaderBytes > bytes.length) return undefined;
    const from = at + segmentHeaderBytes;
    at = from + view.getUint32(at + 4, true);
    if (at > bytes.length) return undefined;
    for (let byte = from; byte < at; byte += 1) checksum ^= bytes[byte] ?? 0;
  }
  // The checksum is the last byte before the next multiple of sixteen.
  const end = at + alignment - (at % alignment);
  return end <= bytes.length && bytes[end - 1] === checksum ? end : undefined;
}

function textAt(bytes: Uint8Array, at: number): string {
  const field = bytes.subarray(at, at + textBytes);
  const length = field.indexOf(0);
  return [...field.subarray(0, length < 0 ? textBytes : length)]
    .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "?"))
    .join("");
}

const nameByte = /[A-Za-z0-9_-]/;

/**
 * Whether the image was built for this board. A board reports its name, so the image contains the name as text. `esp-box`
 * does not match an image for `esp-box-3`.
 */
export function namesBoard(bytes: Uint8Array, board: string): boolean {
  const name = [...board].map((letter) => letter.charCodeAt(0));
  const [first = 0] = name;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    const after = bytes[at + name.length] ?? 0;
    if (name.every((byte, index) => bytes[at + index] === byte) && !nameByte.test(String.fromCharCode(after)))
      return true;
  }
  return false;
}
