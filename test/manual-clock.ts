import type { Clock, Timer } from "@tendon/gateway";

interface Entry {
  readonly ms: number;
  at: number;
  readonly period: number | undefined;
  readonly run: () => void;
}

/**
 * The manual clock of all tests, for the gateway and for virtual devices. Time passes only in `advance`. Timers fire in
 * the order of their due times, also those that were set meanwhile.
 */
export class ManualClock implements Clock {
  readonly #start: number;
  readonly #entries = new Set<Entry>();
  readonly #watchers: (() => void)[] = [];
  /** Every delay that was requested, in order. */
  readonly requested: number[] = [];
  #elapsed = 0;

  /** Starts at the machine's time, because call ids contain it and are looked up by it. */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start;
  }

  /** Timers that have not fired yet. */
  get pending(): number {
    return this.#entries.size;
  }

  /** The number of timers once it has not changed for a while. */
  async settled(): Promise<number> {
    for (let count = this.pending, same = 0; ; ) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      same = this.pending === count ? same + 1 : 0;
      count = this.pending;
      if (same === 6) return count;
    }
  }

  /** Resolves when at least `count` timers are running: of this length, or of any. */
  async running(ms?: number, count = 1): Promise<void> {
    const has = (entry: Entry) => ms === undefined || entry.ms === ms;
    while ([...this.#entries].filter(has).length < count) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  now(): number {
    return this.#start + this.#elapsed;
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
    let first: Entry | undefined;
    for (const entry of this.#entries) {
      if (entry.at <= end && (first === undefined || entry.at < first.at)) first = entry;
    }
    return first;
  }

  #add(entry: Entry): Timer {
    this.#entries.add(entry);
    this.requested.push(entry.ms);
    for (const wake of this.#watchers.splice(0)) wake();
    return { cancel: () => this.#entries.delete(entry) };
  }
}
