/**
 * A sample firmware image for virtual boards. It has the layout of a real image with a version and a board name, but no
 * code that a real board could run.
 */
import { createHash } from "node:crypto";
import { DeviceOptionError } from "./errors.ts";

export interface FirmwareSample {
  readonly board: string;
  readonly version: string;
}

/** The ESP32-S3, the chip that virtual boards report. */
const chipId = 9;
/** Numbers and dots only, because the firmware's parser throws on anything else. */
const versionForm = /^\d{1,5}(\.\d{1,5}){0,3}$/;
const boardName = /^[A-Za-z0-9._-]{1,64}$/;

export function firmwareSample({ board, version }: FirmwareSample): Buffer {
  if (!versionForm.test(version))
    throw new DeviceOptionError(`invalid firmware version "${version}"; use a form such as 2.5.0`);
  if (!boardName.test(board))
    throw new DeviceOptionError(`invalid board name "${board}"; use a form such as esp-box-3`);
  const description = Buffer.alloc(256);
  description.writeUInt32LE(0xabcd5432, 0);
  description.write(version, 16, 32, "latin1");
  description.write("xiaozhi", 48, 32, "latin1");
  const texts = Buffer.from(
    `\0${board}\0A sample for virtual boards. A real board cannot run it.\0`,
    "latin1",
  );
  const data = wholeWords(Buffer.concat([description, texts]));
  const header = Buffer.alloc(24);
  header[0] = 0xe9;
  header[1] = 1;
  header.writeUInt16LE(chipId, 12);
  // A digest follows the checksum.
  header[23] = 1;
  const segment = Buffer.alloc(8);
  segment.writeUInt32LE(data.length, 4);
  const body = Buffer.concat([header, segment, data]);
  const padded = Buffer.concat([body, Buffer.alloc(16 - (body.length % 16))]);
  padded[padded.length - 1] = data.reduce((sum, byte) => sum ^ byte, 0xef);
  return Buffer.concat([padded, createHash("sha256").update(padded).digest()]);
}

function wholeWords(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
