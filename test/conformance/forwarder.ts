/**
 * The suite cannot send a token, and authentication of the gateway cannot be turned off. This proxy between them adds a
 * token. Everything else passes unchanged, including Host and Origin.
 */
import http from "node:http";
import type { AddressInfo } from "node:net";

export interface Forwarder {
  readonly url: string;
  close(): Promise<void>;
}

export async function openForwarder(to: string, token: string): Promise<Forwarder> {
  const { hostname, port } = new URL(to);
  const server = http.createServer((request, response) => {
    const passed = http.request(
      {
        hostname,
        port,
        method: request.method,
        path: request.url,
        headers: { ...request.headers, authorization: `Bearer ${token}` },
        agent: false,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
      },
    );
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
