import type { Clock, Timer } from "../clock.ts";
import type { Health } from "./health.ts";

const everyMs = 1_000;

/** Pings an unavailable database periodically, so that its recovery is noticed without other statements. */
export class Prober {
  readonly #ping: () => Promise<void>;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #closed = false;

  constructor(health: Health, ping: () => Promise<void>, clock: Clock) {
    this.#ping = ping;
    this.#clock = clock;
    health.onChange((state) => {
      if (state === "unavailable") this.#later();
    });
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #later(): void {
    if (this.#closed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(everyMs, () => {
      this.#ping().catch(() => this.#later());
    });
  }
}
