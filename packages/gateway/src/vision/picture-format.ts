import { visionLimits } from "@tendon/protocol";

export type PictureType = "image/jpeg" | "image/png";

/**
 * Detects the format from the content and ignores the declared type. Checks the header up to the size, because the
 * first two bytes of a JPEG are too common. The picture is not decoded.
 */
export function pictureTypeOf(bytes: Buffer): PictureType | undefined {
  const png = pngSize(bytes);
  if (png !== undefined) return isPlausible(png) ? "image/png" : undefined;
  const jpeg = jpegSize(bytes);
  return jpeg !== undefined && isPlausible(jpeg) ? "image/jpeg" : undefined;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function isPlausible({ width, height }: Size): boolean {
  const { max } = visionLimits.pictureSide;
  return width >= 1 && height >= 1 && width <= max && height <= max;
}

const pngHead = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

function pngSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 33 || !bytes.subarray(0, pngHead.length).equals(pngHead)) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

const startOfImage = 0xd8;
const startOfScan = 0xda;
const endOfImage = 0xd9;
/** Markers C0 to CF start a frame, except these, which contain tables or are reserved. */
const noFrame = new Set([0xc4, 0xc8, 0xcc]);

/** Reads the segments up to the one with the size, which is before the first scan. */
function jpegSize(bytes: Buffer): Size | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== startOfImage) return undefined;
  let at = 2;
  while (bytes[at] === 0xff) {
    let marker = bytes[++at];
    // Any number of FF bytes may precede a marker.
    while (marker === 0xff) marker = bytes[++at];
    at += 1;
    if (marker === undefined || marker < 0xc0 || marker === startOfScan || marker === endOfImage)
      return undefined;
    if (at + 2 > bytes.length) return undefined;
    const length = bytes.readUInt16BE(at);
    if (length < 2 || at + length > bytes.length) return undefined;
    if (marker <= 0xcf && !noFrame.has(marker)) {
      return length < 8
        ? undefined
        : { height: bytes.readUInt16BE(at + 3), width: bytes.readUInt16BE(at + 5) };
    }
    at += length;
  }
  return undefined;
}
