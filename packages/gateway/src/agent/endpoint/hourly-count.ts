import type { Clock } from "../../clock.ts";

const minuteMs = 60_000;
const minutes = 60;

/** Counts what happened in the last hour, to the minute. */
export class HourlyCount {
  readonly #clock: Clock;
  readonly #byMinute = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(): void {
    const minute = this.#minute();
    this.#byMinute.set(minute, (this.#byMinute.get(minute) ?? 0) + 1);
    this.#forget(minute);
  }

  get count(): number {
    this.#forget(this.#minute());
    return [...this.#byMinute.values()].reduce((sum, each) => sum + each, 0);
  }

  #minute(): number {
    return Math.floor(this.#clock.monotonic() / minuteMs);
  }

  #forget(now: number): void {
    for (const minute of this.#byMinute.keys()) if (minute <= now - minutes) this.#byMinute.delete(minute);
  }
}
