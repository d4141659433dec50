import type { Clock, Timer } from "../clock.ts";

/** The deadline of a request, which pauses while a callback runs. */
export class Deadline {
  readonly #clock: Clock;
  readonly #expire: () => void;
  #timer: Timer | undefined;
  #dueAt: number;
  #paused = 0;

  constructor(clock: Clock, ms: number, expire: () => void) {
    this.#clock = clock;
    this.#expire = expire;
    this.#dueAt = clock.monotonic() + ms;
    this.#timer = clock.after(ms, expire);
  }

  pause(): void {
    this.#paused += 1;
    if (this.#paused > 1) return;
    this.#timer?.cancel();
    this.#dueAt -= this.#clock.monotonic();
  }

  resume(): void {
    this.#paused -= 1;
    if (this.#paused > 0 || this.#timer === undefined) return;
    const leftMs = this.#dueAt;
    this.#dueAt += this.#clock.monotonic();
    this.#timer = this.#clock.after(leftMs, this.#expire);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
