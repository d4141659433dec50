export interface BucketRate {
  /** The number allowed at once. */
  readonly burst: number;
  /** After the burst, one per this interval. */
  readonly everyMs: number;
}

/** Rounding errors must not make a wait a millisecond longer. */
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

  /** Takes a token; returns false if there is none. */
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

  /** Takes tokens even if there are not enough; the bucket then owes them, `debt` at most. */
  charge(count: number, now: number, debt = 0): void {
    this.#tokens = Math.max(-debt, this.tokens(now) - count);
  }

  /** Returns a token. */
  refund(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1);
  }

  /** Allows so many more, even beyond the burst: replies to the gateway's own requests are not a flood. */
  allow(count: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens) + count;
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
