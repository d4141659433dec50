/** Sends the current state to an app that has subscribed. */
import type { Client } from "aedes";

/** The current messages whose topics match one of the filters. */
export type RetainedSource = (
  filters: readonly string[],
) => Iterable<{ readonly topic: string; readonly payload: string }>;

/** After so many messages, others get their turn: a fleet has thousands. */
const messagesPerTurn = 50;

export class RetainedMessages {
  readonly #client: Client;
  readonly #source: RetainedSource;
  readonly #filters = new Set<string>();
  #sending = false;

  constructor(client: Client, source: RetainedSource) {
    this.#client = client;
    this.#source = source;
  }

  /** Filters that arrive while messages are sent wait for their end, so that repeating them gains nothing. */
  send(filters: readonly string[]): void {
    for (const filter of filters) this.#filters.add(filter);
    if (!this.#sending) void this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    while (this.#filters.size > 0) {
      const filters = [...this.#filters];
      this.#filters.clear();
      let sent = 0;
      for (const { topic, payload } of this.#source(filters)) {
        if (this.#client.closed) return;
        const packet = { cmd: "publish", topic, payload, qos: 0, retain: true, dup: false } as const;
        await new Promise<void>((resolve) => this.#client.publish(packet, () => resolve()));
        sent += 1;
        if (sent % messagesPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }
    this.#sending = false;
  }
}
