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

/** What every client in a session is notified of. */
export class AgentSession {
  readonly #server: Server;
  readonly #subscriptions: Subscriptions;

  constructor(server: Server, subscriptions: Subscriptions) {
    this.#server = server;
    this.#subscriptions = subscriptions;
  }

  get hasSubscriptions(): boolean {
    return this.#subscriptions.size > 0;
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

/** A session over Streamable HTTP. */
export class Session extends AgentSession {
  readonly id: string;
  readonly #transport: SessionTransport;
  readonly #clock: Clock;
  #openExchanges = 0;
  #usedAt: number;

  private constructor(
    server: Server,
    subscriptions: Subscriptions,
    { clock, idPrefix }: SessionDependencies,
  ) {
    super(server, subscriptions);
    this.id = `${idPrefix}${randomUUID()}`;
    this.#transport = new SessionTransport(this.id);
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
}

/** Sending fails when the client is gone, and then needs no handling. */
function ignoreFailure(sent: Promise<void>): void {
  void sent.catch(() => undefined);
}
