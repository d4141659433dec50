/** A session of the older era: lives from `initialize` until it is ended, lapses, or its token is revoked. */
import { randomUUID } from "node:crypto";
import type { Server } from "@modelcontextprotocol/server";
import type { Clock } from "../../clock.ts";
import type { Exchange } from "./exchange.ts";
import type { Subscriptions } from "./resources/resources.ts";
import { SessionTransport } from "./session-transport.ts";

export interface SessionNeeds {
  readonly clock: Clock;
  /** What ids given out here begin with, so that another node can tell whose they are. */
  readonly idMark: string;
}

export class Session {
  readonly id: string;
  readonly #server: Server;
  readonly #subscriptions: Subscriptions;
  readonly #transport: SessionTransport;
  readonly #clock: Clock;
  #openExchanges = 0;
  #usedAt: number;

  private constructor(server: Server, subscriptions: Subscriptions, { clock, idMark }: SessionNeeds) {
    this.id = `${idMark}${randomUUID()}`;
    this.#transport = new SessionTransport(this.id);
    this.#server = server;
    this.#subscriptions = subscriptions;
    this.#clock = clock;
    this.#usedAt = clock.monotonic();
  }

  static async open(
    server: Server,
    subscriptions: Subscriptions,
    needs: SessionNeeds,
    closed: (session: Session) => void,
  ): Promise<Session> {
    const session = new Session(server, subscriptions, needs);
    server.onclose = () => closed(session);
    await server.connect(session.#transport);
    return session;
  }

  /** Its `initialize` was taken; one that was refused leaves nothing behind. */
  get isOpen(): boolean {
    return this.#transport.isOpen;
  }

  /** It wants to be told of changes of something. */
  get watches(): boolean {
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
    unheard(this.#server.sendToolListChanged());
  }

  resourcesChanged(): void {
    unheard(this.#server.sendResourceListChanged());
  }

  promptsChanged(): void {
    unheard(this.#server.sendPromptListChanged());
  }

  /** A part of a device is not what it was: told under every name by which it is watched here. */
  partChanged(device: string, part: string): void {
    for (const uri of this.#subscriptions.watched(device, part)) this.resourceUpdated(uri);
  }

  resourceUpdated(uri: string): void {
    if (this.#subscriptions.has(uri)) unheard(this.#server.sendResourceUpdated({ uri }));
  }

  close(): void {
    unheard(this.#server.close());
  }
}

/** Whoever is gone hears nothing, and that is all. */
function unheard(said: Promise<void>): void {
  void said.catch(() => undefined);
}
