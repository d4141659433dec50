import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Problem } from "@tendon/protocol";
import type { TendonError } from "./errors.ts";

/** The problem document (RFC 9457) of an error. */
export function problemOf(error: TendonError): Problem {
  return {
    type: `urn:tendon:error:${error.code}`,
    title: error.title,
    status: error.kind.status,
    code: error.code,
    detail: error.message,
    retryable: error.kind.retryable,
    ...error.context,
  };
}

/** The problem document as an answer for Node's own HTTP server. */
export function problemAnswer(error: TendonError) {
  const problem = problemOf(error);
  const body = JSON.stringify(problem);
  const headers = {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
  };
  return { status: problem.status, headers, body };
}

/** Answers on a socket that has no HTTP response, as before an upgrade, and ends the connection. */
export function refuseOnSocket(socket: Duplex, error: TendonError, headers: readonly string[] = []): void {
  const problem = problemOf(error);
  const body = JSON.stringify(problem);
  socket.on("error", () => socket.destroy());
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? error.code}`,
      "Connection: close",
      ...headers,
      "Content-Type: application/problem+json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n"),
  );
}
