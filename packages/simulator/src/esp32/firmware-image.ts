import type { Machine } from "./machine.ts";

/** The result of a download. */
export interface DownloadedImage {
  /** The version in the image. A virtual device accepts any image, even one without a version. */
  readonly version: string | undefined;
}

const imageLimit = 16 * 1024 * 1024;
/** Offset of the application's description: after the image header and the first segment header. */
const description = { at: 32, magic: 0xabcd5432, versionAt: 48, versionBytes: 32 };

/** Downloads an image as the firmware does: a plain GET of the whole file, which needs a Content-Length. */
export async function downloadImage(
  { http, alive }: Machine,
  url: string,
): Promise<DownloadedImage | undefined> {
  const outcome = await http.get(url, alive);
  if (outcome.kind === "unopened") return undefined;
  const { contentLength = 0 } = outcome;
  const announced = outcome.status === 200 && contentLength > 0;
  const body = announced ? await outcome.read(imageLimit) : undefined;
  if (body?.kind === "whole" && body.bytes.length === contentLength)
    return { version: versionOf(body.bytes) };
  outcome.discard();
  return undefined;
}

function versionOf(image: Buffer): string | undefined {
  const { at, magic, versionAt, versionBytes } = description;
  if (image.length < versionAt + versionBytes || image.readUInt32LE(at) !== magic) return undefined;
  const text = image.subarray(versionAt, versionAt + versionBytes);
  const end = text.indexOf(0);
  return text.subarray(0, end < 0 ? versionBytes : end).toString("latin1");
}
