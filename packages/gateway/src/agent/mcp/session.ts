/** A session of the older era: lives from `initialize` until it is ended, lapses, or its token is revoked. */
import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { isObject } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import type { Exchange } from "./exchange.ts";
import { Replay } from "./replay.ts";
import type { Subscriptions } from "./resources/resources.ts";

export interface SessionOwner {
  opened(id: string, session: Session): void;
  /** `undefined` for one that never came to be. */
  closed(id: string | undefined): void;
}

export interface SessionNeeds {
  readonly clock: Clock;
  /** What ids given out here begin with, so that another node can tell whose they are. */
  readonly idMark: string;
}

export class Session {
  readonly #server: Server;
  readonly #subscriptions: Subscriptions;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #clock: Clock;
  readonly #connected: Promise<void>;
  #openExchanges = 0;
  #usedAt: number;

  constructor(
    server: Server,
    subscriptions: Subscriptions,
    { clock, idMark }: SessionNeeds,
    owner: SessionOwner,
  ) {
    this.#server = server;
    this.#subscriptions = subscriptions;
    this.#clock = clock;
    this.#usedAt = clock.monotonic();
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => `${idMark}${randomUUID()}`,
      eventStore: new Replay(),
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
    const cancelled = cancelledRequest(exchange.body);
    // The SDK does not answer what was cancelled, and would keep the stream of the answer open.
    if (cancelled !== undefined) setImmediate(() => this.#transport.closeSSEStream(cancelled));
    // An `initialize` that was refused leaves nothing behind.
    if (this.#transport.sessionId === undefined) this.close();
    return response;
  }

  idleMs(now: number): number {
    return this.#openExchanges > 0 ? 0 : now - this.#usedAt;
  }

  toolsChanged(): void {
    unheard(this.#server.sendToolListChanged());
  }

  resourcesChanged(): void {
    unheard(this.#server.sendResourceListChanged());
  }

  promptsChanged(): void {
    unheard(this.#server.sendPromptListChanged());
  }

  resourceUpdated(uri: string): void {
    if (this.#subscriptions.has(uri)) unheard(this.#server.sendResourceUpdated({ uri }));
  }

  close(): void {
    void this.#server.close().catch(() => undefined);
  }
}

/** Whoever is gone hears nothing, and that is all. */
function unheard(said: Promise<void>): void {
  void said.catch(() => undefined);
}

function cancelledRequest(body: unknown): string | number | undefined {
  if (!isObject(body) || body["method"] !== "notifications/cancelled" || !isObject(body["params"]))
    return undefined;
  const { requestId } = body["params"];
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined;
}
