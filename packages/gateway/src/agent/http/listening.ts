/** Listens on the gateway's port; a port in use is a StartError that says what to do. */
import https from "node:https";
import { messageOf, StartError } from "../../errors.ts";
import type { Certificate } from "./certificate.ts";
import type { Http } from "./server.ts";

/** Node's 511 overflow when a fleet comes back after a power cut; each overflow costs a client a second or more. */
const backlog = 4_096;

export async function listen(
  http: Http,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await http.listen({ host, port, backlog });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new StartError(
        `Port ${port} on ${host} is taken. Choose another with --port, or 0 for any free one.`,
      );
    }
    throw new StartError(`Cannot listen on ${host}:${port} (${messageOf(error)}).`, [], error);
  }
}

/** New connections get a renewed certificate [TLS-2]. */
export function serveCertificate(http: Http, certificate: Certificate | undefined): void {
  const { server } = http;
  certificate?.serve((pair) => {
    if (server instanceof https.Server) server.setSecureContext(pair);
  });
}

export function portOf(http: Http): number {
  const address = http.server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
