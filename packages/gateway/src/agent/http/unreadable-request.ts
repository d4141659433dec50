import type { Server } from "node:http";
import type { Socket } from "node:net";
import { TendonError } from "../../errors.ts";
import { problemAnswer, refuseOnSocket } from "../../problem-document.ts";

/**
 * Answers what Node cannot parse as a request, and closes the connection. No route and no error handler sees it, so it
 * gets its problem document here.
 */
export function refuseUnreadable({ code }: { readonly code?: string }, socket: Socket): void {
  if (code === "ECONNRESET" || socket.destroyed) return;
  // What the client goes on to send is not read.
  if (!socket.writable) socket.destroy();
  else {
    socket.once("finish", () => socket.destroy());
    refuseOnSocket(socket, refusalOf(code));
  }
}

function refusalOf(code: string | undefined): TendonError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new TendonError("bad_request", "the request did not arrive in time", { status: 408 });
  if (code === "HPE_HEADER_OVERFLOW")
    return new TendonError("payload_too_large", "the headers are too large", { status: 431 });
  return new TendonError("bad_request", "this is not a valid HTTP request");
}

/** Answers an `Expect` header with anything but `100-continue`, which Node would refuse without a body. */
export function refuseExpectations(server: Server): void {
  server.on("checkExpectation", (_request, response) => {
    const error = new TendonError("bad_request", "only `Expect: 100-continue` is supported", { status: 417 });
    const { status, headers, body } = problemAnswer(error);
    response.writeHead(status, { ...headers, connection: "close" }).end(body);
  });
}
