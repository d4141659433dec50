import type { Clock } from "../src/index.ts";

interface Timer {
  readonly at: number;
  readonly task: () => void;
}

/** Time that passes only when told to. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();
  /** Every delay ever asked for, in order. */
  readonly requested: number[] = [];
  readonly #waiters: (() => void)[] = [];

  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + ms, task };
    this.#timers.add(timer);
    this.requested.push(ms);
    for (const resolve of this.#waiters.splice(0)) resolve();
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Resolves when somebody waits for time to pass. */
  async awaited(): Promise<void> {
    if (this.#timers.size > 0) return;
    await new Promise<void>((resolve) => {
      this.#waiters.push(resolve);
    });
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = [...this.#timers].filter((timer) => timer.at <= this.#now).sort((a, b) => a.at - b.at);
    for (const timer of due) {
      if (this.#timers.delete(timer)) timer.task();
    }
  }
}
