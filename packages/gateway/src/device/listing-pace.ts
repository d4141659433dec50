import type { Clock } from "../clock.ts";
import { TokenBucket } from "../token-bucket.ts";

export const listingPauseMs = 1_000;
const burst = 10;
/** A device that reports changes for ever is then listed as often as it may be stored. */
const everyMs = 30_000;

/** How often a device is listed again because it reports changes: once a second, and after ten times more rarely. */
export class ListingPace {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bucket = new TokenBucket({ burst, everyMs }, clock.monotonic());
  }

  /** Milliseconds until the next listing may begin. At 0 it is counted as begun. */
  begin(): number {
    const now = this.#clock.monotonic();
    const wait = Math.max(this.#lastAt + listingPauseMs - now, this.#bucket.waitMs(now));
    if (wait > 0) return wait;
    this.#bucket.take(now);
    this.#lastAt = now;
    return 0;
  }
}
