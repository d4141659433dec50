import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Inbox } from "../../../test/inbox.ts";

export interface OtaRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  answer(status: number, body?: unknown): void;
  readonly response: ServerResponse;
}

/** An OTA server on a free loopback port. The test gives every answer. */
export class ScriptedOta {
  readonly requests = new Inbox<OtaRequest>("request");
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () =>
        this.requests.put({
          method: request.method ?? "",
          path: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(parts).toString(),
          response,
          answer: (status, body = {}) => {
            response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
          },
        }),
      );
    });
  }

  static async start(): Promise<ScriptedOta> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ScriptedOta(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/xiaozhi/ota/`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
