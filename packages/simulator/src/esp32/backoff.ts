export interface BackoffOptions {
  readonly minimumMs?: number;
  readonly maximumMs?: number;
  /** How much of each delay is left to chance, from 0 to 1; half of it by default. */
  readonly jitter?: number;
}

/** Doubling delays with jitter, so that a fleet cut off at once does not return at once. */
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
