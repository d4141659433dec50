import type { Clock, Timer } from "../../src/clock.ts";

interface Entry {
  readonly ms: number;
  at: number;
  readonly period: number | undefined;
  readonly run: () => void;
}

/** Time that passes only when it is told to; a test can wait until somebody waits for a moment to come. */
export class ManualClock implements Clock {
  readonly #entries = new Set<Entry>();
  readonly #watchers = new Set<() => void>();
  #elapsed = 0;

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): Timer {
    return this.#add({ ms, at: this.#elapsed + ms, period: undefined, run });
  }

  every(ms: number, run: () => void): Timer {
    return this.#add({ ms, at: this.#elapsed + ms, period: ms, run });
  }

  /** Resolves when `count` timers of this length are running. */
  async running(ms: number, count = 1): Promise<void> {
    while ([...this.#entries].filter((entry) => entry.ms === ms).length < count) {
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
  }

  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let entry = this.#next(end); entry !== undefined; entry = this.#next(end)) {
      this.#elapsed = Math.max(this.#elapsed, entry.at);
      if (entry.period === undefined) this.#entries.delete(entry);
      else entry.at += entry.period;
      entry.run();
    }
    this.#elapsed = end;
  }

  #next(end: number): Entry | undefined {
    const due = [...this.#entries].filter((entry) => entry.at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }

  #add(entry: Entry): Timer {
    this.#entries.add(entry);
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const wake of watchers) wake();
    return { cancel: () => this.#entries.delete(entry) };
  }
}
