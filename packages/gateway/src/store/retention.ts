import { limits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { OnProblem } from "./health.ts";
import { StoreError } from "./store-error.ts";

export interface RetentionRules {
  readonly callsForMs: number;
  readonly calls: number;
  readonly eventsForMs: number;
  readonly events: number;
  readonly auditForMs: number;
  /** Delivered events of one webhook, for a replay. */
  readonly deliveries: number;
}

export const defaultRules: RetentionRules = {
  callsForMs: 90 * 24 * 60 * 60_000,
  calls: 1_000_000,
  eventsForMs: 7 * 24 * 60 * 60_000,
  events: limits.eventsKept.max,
  auditForMs: 365 * 24 * 60 * 60_000,
  deliveries: 100_000,
};

/** Deletes at most `limit` old rows of one kind. Returns the number of deleted rows. */
export type Prune = (limit: number) => Promise<number>;

const stepRows = 1_000;
const everyMs = 10_000;
/** While there is more to delete. 10,000 rows a second are more than the gateway adds. */
const soonMs = 100;

/** Deletes old rows in small steps, so that other work is not delayed. */
export class Retention {
  readonly #parts: ReadonlyMap<string, Prune>;
  readonly #clock: Clock;
  readonly #onProblem: OnProblem;
  readonly #timer: Timer;
  #soon: Timer | undefined;
  #running: Promise<number> | undefined;
  #closed = false;

  constructor(parts: ReadonlyMap<string, Prune>, clock: Clock, onProblem: OnProblem) {
    this.#parts = parts;
    this.#clock = clock;
    this.#onProblem = onProblem;
    this.#timer = clock.every(everyMs, () => this.#run());
  }

  /** One whole step for every kind of row, after a running one. Returns the number of deleted rows. */
  async step(): Promise<number> {
    await this.#running;
    return await this.#share();
  }

  async #share(): Promise<number> {
    this.#running ??= this.#step().finally(() => {
      this.#running = undefined;
    });
    return await this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer.cancel();
    this.#soon?.cancel();
    await this.#running;
  }

  #run(): void {
    this.#share().then(
      () => {},
      (error: unknown) => this.#report("retention", error),
    );
  }

  async #step(): Promise<number> {
    let deleted = 0;
    let more = false;
    for (const [what, prune] of this.#parts) {
      if (this.#closed) break;
      try {
        const count = await prune(stepRows);
        deleted += count;
        more ||= count >= stepRows;
      } catch (error) {
        this.#report(what, error);
      }
    }
    if (more && !this.#closed) {
      this.#soon?.cancel();
      this.#soon = this.#clock.after(soonMs, () => this.#run());
    }
    return deleted;
  }

  /** Ignores an unavailable database: `Health` reports it, and the next step retries. */
  #report(what: string, error: unknown): void {
    if (error instanceof StoreError && error.fault === "unavailable") return;
    this.#onProblem({ kind: "failed", what: `retention of ${what}`, detail: messageOf(error) });
  }
}
