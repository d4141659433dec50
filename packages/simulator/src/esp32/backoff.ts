export interface BackoffOptions {
  readonly minimumMs?: number;
  readonly maximumMs?: number;
}

/** Doubling delays with jitter, so that a fleet cut off at once does not return at once. */
export class Backoff {
  readonly #minimum: number;
  readonly #maximum: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(options: BackoffOptions, random: () => number) {
    this.#minimum = options.minimumMs ?? 1_000;
    this.#maximum = options.maximumMs ?? 60_000;
    this.#random = random;
  }

  next(): number {
    const ceiling = Math.min(this.#maximum, this.#minimum * 2 ** Math.min(this.#failures, 16));
    this.#failures += 1;
    return ceiling / 2 + (ceiling / 2) * this.#random();
  }

  reset(): void {
    this.#failures = 0;
  }
}
