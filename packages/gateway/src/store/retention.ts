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
}

export const defaultRules: RetentionRules = {
  callsForMs: 90 * 24 * 60 * 60_000,
  calls: 1_000_000,
  eventsForMs: 7 * 24 * 60 * 60_000,
  events: limits.eventsKept.max,
};

/** One step of forgetting one kind of thing: at most so many rows; says how many went. */
export type Forget = (limit: number) => Promise<number>;

const stepRows = 1_000;
const everyMs = 10_000;
/** While there is more to do; ten thousand rows a second outrun what comes in. */
const soonMs = 100;

/** Forgets what is old, a little at a time, so that nobody notices. */
export class Retention {
  readonly #parts: ReadonlyMap<string, Forget>;
  readonly #clock: Clock;
  readonly #onProblem: OnProblem;
  readonly #timer: Timer;
  #soon: Timer | undefined;
  #running: Promise<number> | undefined;
  #closed = false;

  constructor(parts: ReadonlyMap<string, Forget>, clock: Clock, onProblem: OnProblem) {
    this.#parts = parts;
    this.#clock = clock;
    this.#onProblem = onProblem;
    this.#timer = clock.every(everyMs, () => this.#run());
  }

  /** One step of everything; says how many rows went. */
  async step(): Promise<number> {
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
    this.step().then(
      () => {},
      (error: unknown) => this.#report("retention", error),
    );
  }

  async #step(): Promise<number> {
    let gone = 0;
    let more = false;
    for (const [what, forget] of this.#parts) {
      if (this.#closed) break;
      try {
        const count = await forget(stepRows);
        gone += count;
        more ||= count >= stepRows;
      } catch (error) {
        this.#report(what, error);
      }
    }
    if (more && !this.#closed) {
      this.#soon?.cancel();
      this.#soon = this.#clock.after(soonMs, () => this.#run());
    }
    return gone;
  }

  /** A database that is away is told of elsewhere, and the next step will come. */
  #report(what: string, error: unknown): void {
    if (error instanceof StoreError && error.fault === "unavailable") return;
    this.#onProblem({ kind: "failed", what: `retention of ${what}`, detail: messageOf(error) });
  }
}
