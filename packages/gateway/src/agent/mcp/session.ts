/** A session of the older era: lasts from `initialize` until the client ends it, it expires, or its token is revoked. */
import { randomUUID } from "node:crypto";
import type { Server } from "@modelcontextprotocol/server";
import type { Clock } from "../../clock.ts";
import type { Exchange } from "./exchange.ts";
import type { Subscriptions } from "./resources/resources.ts";
import { SessionTransport } from "./session-transport.ts";

export interface SessionDependencies {
  readonly clock: Clock;
  /** The prefix of ids made on this node; it names the node to the others. */
  readonly idPrefix: string;
}

export class Session {
  readonly id: string;
  readonly #server: Server;
  readonly #subscriptions: Subscriptions;
  readonly #transport: SessionTransport;
  readonly #clock: Clock;
  #openExchanges = 0;
  #usedAt: number;

  private constructor(
    server: Server,
    subscriptions: Subscriptions,
    { clock, idPrefix }: SessionDependencies,
  ) {
    this.id = `${idPrefix}${randomUUID()}`;
    this.#transport = new SessionTransport(this.id);
    this.#server = server;
    this.#subscriptions = subscriptions;
    this.#clock = clock;
    this.#usedAt = clock.monotonic();
  }

  static async open(
    server: Server,
    subscriptions: Subscriptions,
    dependencies: SessionDependencies,
    closed: (session: Session) => void,
  ): Promise<Session> {
    const session = new Session(server, subscriptions, dependencies);
    server.onclose = () => closed(session);
    await server.connect(session.#transport);
    return session;
  }

  /** Whether its `initialize` was accepted. */
  get isOpen(): boolean {
    return this.#transport.isOpen;
  }

  get hasSubscriptions(): boolean {
    return this.#subscriptions.size > 0;
  }

  serve(exchange: Exchange): void {
    this.#openExchanges += 1;
    exchange.onEnd(() => {
      this.#openExchanges -= 1;
      this.#usedAt = this.#clock.monotonic();
    });
    this.#transport.serve(exchange);
  }

  /** When its last request or stream ended; `undefined` while one is open. */
  get idleSince(): number | undefined {
    return this.#openExchanges > 0 ? undefined : this.#usedAt;
  }

  keepAlive(): void {
    this.#transport.keepAlive();
  }

  toolsChanged(): void {
    ignoreFailure(this.#server.sendToolListChanged());
  }

  resourcesChanged(): void {
    ignoreFailure(this.#server.sendResourceListChanged());
  }

  promptsChanged(): void {
    ignoreFailure(this.#server.sendPromptListChanged());
  }

  /** Notifies under every URI by which the client subscribed to this part of the device. */
  partChanged(device: string, part: string): void {
    for (const uri of this.#subscriptions.watched(device, part)) this.resourceUpdated(uri);
  }

  resourceUpdated(uri: string): void {
    if (this.#subscriptions.has(uri)) ignoreFailure(this.#server.sendResourceUpdated({ uri }));
  }

  close(): void {
    ignoreFailure(this.#server.close());
  }
}

/** Sending fails when the client is gone, and then needs no handling. */
function ignoreFailure(sent: Promise<void>): void {
  void sent.catch(() => undefined);
}
