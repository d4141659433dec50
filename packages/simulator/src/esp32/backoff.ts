export interface BackoffOptions {
  readonly minimumMs?: number;
  readonly maximumMs?: number;
  /** The random share of each delay, from 0 to 1; 0.5 by default. */
  readonly jitter?: number;
}

/** Doubling delays with jitter, so that a disconnected fleet does not reconnect all at once. */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  next({ minimumMs = 1_000, maximumMs = 60_000, jitter = 0.5 }: BackoffOptions): number {
    const ceiling = Math.min(maximumMs, minimumMs * 2 ** Math.min(this.#failures, 16));
    this.#failures += 1;
    return ceiling * (1 - jitter + jitter * this.#random());
  }

  reset(): void {
    this.#failures = 0;
  }
}
