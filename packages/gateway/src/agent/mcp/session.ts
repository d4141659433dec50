/** A session of the older era: lives from `initialize` until it is ended, lapses, or its token is revoked. */
import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Clock } from "../../clock.ts";
import type { Exchange } from "./exchange.ts";

export interface SessionOwner {
  opened(id: string, session: Session): void;
  /** `undefined` for one that never came to be. */
  closed(id: string | undefined): void;
}

export class Session {
  readonly #server: Server;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #clock: Clock;
  readonly #connected: Promise<void>;
  #openExchanges = 0;
  #usedAt: number;

  constructor(server: Server, clock: Clock, owner: SessionOwner) {
    this.#server = server;
    this.#clock = clock;
    this.#usedAt = clock.monotonic();
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => owner.opened(id, this),
    });
    server.onclose = () => owner.closed(this.#transport.sessionId);
    this.#connected = server.connect(this.#transport);
  }

  async serve(exchange: Exchange): Promise<Response> {
    this.#openExchanges += 1;
    exchange.onEnd(() => {
      this.#openExchanges -= 1;
      this.#usedAt = this.#clock.monotonic();
    });
    await this.#connected;
    const response = await this.#transport.handleRequest(exchange.request, { parsedBody: exchange.body });
    // An `initialize` that was refused leaves nothing behind.
    if (this.#transport.sessionId === undefined) this.close();
    return response;
  }

  idleMs(now: number): number {
    return this.#openExchanges > 0 ? 0 : now - this.#usedAt;
  }

  toolsChanged(): void {
    void this.#server.sendToolListChanged().catch(() => undefined);
  }

  close(): void {
    void this.#server.close().catch(() => undefined);
  }
}
