export interface BucketRate {
  /** So many at once. */
  readonly burst: number;
  /** After the burst, one in so long. */
  readonly everyMs: number;
}

/** Rounding must not make a wait a millisecond longer than it is. */
const rounding = 1e-6;

/** A token bucket: a sustained rate, and a burst on top of it. Times are those of one monotonic clock. */
export class TokenBucket {
  readonly #burst: number;
  readonly #everyMs: number;
  #tokens: number;
  #at: number;

  constructor({ burst, everyMs }: BucketRate, now: number) {
    this.#burst = burst;
    this.#everyMs = everyMs;
    this.#tokens = burst;
    this.#at = now;
  }

  /** Takes a token; false where there is none. */
  take(now: number): boolean {
    if (this.tokens(now) < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  tokens(now: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) / this.#everyMs);
    this.#at = now;
    return this.#tokens;
  }

  /** Takes tokens that may not be there; the bucket then owes them, `debt` at most. */
  charge(count: number, now: number, debt = 0): void {
    this.#tokens = Math.max(-debt, this.tokens(now) - count);
  }

  /** Gives back a token that should not have been taken. */
  refund(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1);
  }

  /** Allows one more, also beyond the burst: replies to requests of ours do not count as a flood. */
  allowOne(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens) + 1;
  }

  /** Milliseconds until there is a token; 0 means now. */
  waitMs(now: number): number {
    const missing = 1 - this.tokens(now);
    return missing <= 0 ? 0 : Math.ceil(missing * this.#everyMs - rounding);
  }
}

export function perSecond(count: number): number {
  return 1_000 / count;
}
