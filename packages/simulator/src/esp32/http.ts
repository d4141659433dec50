import type { ByteText } from "./byte-text.ts";

/** Interface of the device's HTTP client, so that tests can script the servers. */
export interface DeviceHttp {
  get(url: string, signal: AbortSignal): Promise<HttpOutcome>;
  /** Sends `chunks` with chunked transfer encoding, each as one chunk, unless the headers have a Content-Length. */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    chunks: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<HttpOutcome>;
}

export type HttpOutcome = { readonly kind: "unopened"; readonly cause: unknown } | HttpAnswer;

export interface HttpAnswer {
  readonly kind: "answered";
  readonly status: number;
  /** Undefined if the server did not send it. */
  readonly contentLength: number | undefined;
  read(limit: number): Promise<HttpBody>;
  /** Closes the connection without reading the rest. */
  discard(): void;
}

export type HttpBody =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | { readonly kind: "broken-off" }
  /** The body exceeds the limit. The rest is unread and the connection open until discard() or the signal. */
  | { readonly kind: "too-long" };

interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly contentType?: string;
  readonly content: Uint8Array;
}

const uploadChunk = 4096;

/** multipart/form-data as the firmware streams it: part heads, bodies and the end as separate chunks. */
export function formChunks(boundary: string, parts: readonly FormPart[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (const part of parts) {
    const filename = part.filename === undefined ? "" : `; filename="${part.filename}"`;
    const type = part.contentType === undefined ? "" : `Content-Type: ${part.contentType}\r\n`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${part.name}"${filename}\r\n${type}\r\n`;
    chunks.push(Buffer.from(head, "latin1"));
    for (let at = 0; at < part.content.length; at += uploadChunk) {
      chunks.push(part.content.subarray(at, at + uploadChunk));
    }
    chunks.push(Buffer.from("\r\n", "latin1"));
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`, "latin1"));
  return chunks;
}

/** A header value cannot hold what a C string can; line ends would start a new header. */
export function headerValue(bytes: ByteText): string {
  return bytes.replace(/[\r\n]/g, "");
}
