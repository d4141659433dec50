/** Whether an image may be offered at all [FWU-1]: what is wrong is told here, not by a board that does not start. */
import { createHash } from "node:crypto";
import {
  type FirmwareUpload,
  type ImageHeader,
  imageDigestBytes,
  isFirmwareVersion,
  namesBoard,
  readImage,
} from "@tendon/protocol";
import { TendonError } from "../errors.ts";

export function checkImage(bytes: Buffer, upload: FirmwareUpload): ImageHeader {
  const read = readImage(bytes);
  if (read.outcome !== "ok")
    throw refused(read.outcome === "invalid" ? read.reason : "it is of no known kind");
  const header = read.message;
  if (!digestFits(bytes, header)) throw refused("its digest does not fit: it is damaged");
  if (!isFirmwareVersion(header.version)) {
    throw refused(
      `its version is \`${header.version}\`; boards read numbers and dots only, and crash over anything else`,
    );
  }
  if (upload.version !== undefined && upload.version !== header.version) {
    throw refused(`its version is ${header.version}, not ${upload.version}`);
  }
  if (upload.anyBoard !== true && !namesBoard(bytes, upload.board)) {
    throw refused(`it was not built for ${upload.board}: that name does not occur in it`);
  }
  return header;
}

function digestFits(bytes: Buffer, { end, digested }: ImageHeader): boolean {
  if (!digested) return true;
  const digest = createHash("sha256").update(bytes.subarray(0, end)).digest();
  return digest.equals(bytes.subarray(end, end + imageDigestBytes));
}

function refused(reason: string): TendonError {
  return new TendonError("bad_request", `the image cannot be used: ${reason}`);
}
