/** Checks an uploaded image [FWU-1], so that an invalid one is rejected here and not by a board that fails to start. */
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
    throw rejected(read.outcome === "invalid" ? read.reason : "its format is unknown");
  const header = read.message;
  if (!digestFits(bytes, header)) throw rejected("its digest does not match, so the file is damaged");
  if (!isFirmwareVersion(header.version)) {
    throw rejected(
      `its version is \`${header.version}\`; boards accept only numbers and dots and crash on anything else`,
    );
  }
  if (upload.version !== undefined && upload.version !== header.version) {
    throw rejected(`its version is ${header.version}, not ${upload.version}`);
  }
  if (upload.anyBoard !== true && !namesBoard(bytes, upload.board)) {
    throw rejected(`it was not built for ${upload.board}: it does not contain that name`);
  }
  return header;
}

function digestFits(bytes: Buffer, { end, digested }: ImageHeader): boolean {
  if (!digested) return true;
  const digest = createHash("sha256").update(bytes.subarray(0, end)).digest();
  return digest.equals(bytes.subarray(end, end + imageDigestBytes));
}

function rejected(reason: string): TendonError {
  return new TendonError("bad_request", `the image cannot be used: ${reason}`);
}
