/** Small firmware images in the format of the build system, and broken ones on demand. */
import { createHash } from "node:crypto";

export interface ImageParts {
  readonly version?: string;
  readonly board?: string;
  readonly project?: string;
  /** The chip id of the header: 9 is the ESP32-S3. */
  readonly chipId?: number;
  /** Size of the code, so that images differ in length. */
  readonly codeBytes?: number;
  readonly digest?: boolean;
}

export function makeImage(parts: ImageParts = {}): Buffer {
  const { version = "2.5.0", board = "esp-box-3", project = "xiaozhi" } = parts;
  const { chipId = 9, codeBytes = 4_000, digest = true } = parts;
  const application = Buffer.alloc(256);
  application.writeUInt32LE(0xabcd5432, 0);
  application.write(version, 16, 32, "latin1");
  application.write(project, 48, 32, "latin1");
  const texts = Buffer.from(`\0{"board":{"name":"\0${board}\0"}}\0`, "latin1");
  const code = Buffer.alloc(codeBytes, `${version} `);
  const segments = [Buffer.concat([application, texts]), code].map(segment);
  const header = Buffer.alloc(24);
  header[0] = 0xe9;
  header[1] = segments.length;
  header.writeUInt16LE(chipId, 12);
  header[23] = digest ? 1 : 0;
  const body = Buffer.concat([header, ...segments]);
  const padded = Buffer.concat([body, Buffer.alloc(16 - (body.length % 16))]);
  padded[padded.length - 1] = checksum(segments);
  return digest ? Buffer.concat([padded, createHash("sha256").update(padded).digest()]) : padded;
}

function segment(data: Buffer): Buffer {
  // Segments are whole words.
  const words = Buffer.concat([data, Buffer.alloc((4 - (data.length % 4)) % 4)]);
  const header = Buffer.alloc(8);
  header.writeUInt32LE(words.length, 4);
  return Buffer.concat([header, words]);
}

function checksum(segments: readonly Buffer[]): number {
  let sum = 0xef;
  for (const one of segments) for (const byte of one.subarray(8)) sum ^= byte;
  return sum;
}
