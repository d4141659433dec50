import { limits } from "@tendon/protocol";
import type { Config } from "../config/config.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";

type Rate = Config["limits"]["principal"];

/** A node reports to the others as soon as its unreported requests are this fraction of a burst. */
const reportFraction = 20;

/** The bucket of a principal or an address, whose spending is reported to other nodes. */
export class Bucket {
  readonly #tokens: TokenBucket;
  readonly #burst: number;
  /** Spent here, and not reported to other nodes yet. */
  unreported = 0;
  /** Whether it was logged that the bucket is empty, since it was last half full. */
  #reported = false;

  constructor({ perSecond: rate, burst }: Rate, now: number) {
    this.#tokens = new TokenBucket({ burst, everyMs: perSecond(rate) }, now);
    this.#burst = burst;
  }

  take(now: number): boolean {
    if (this.isEmpty(now)) return false;
    this.#tokens.charge(1, now, this.#burst);
    this.unreported += 1;
    return true;
  }

  /** Charges the requests of other nodes; the bucket owes at most a burst. */
  applySpent(count: number, now: number): void {
    this.#tokens.charge(count, now, this.#burst);
  }

  /** Whether enough requests were counted here to report them to other nodes now. */
  get worthReporting(): boolean {
    return this.unreported * reportFraction >= this.#burst;
  }

  isEmpty(now: number): boolean {
    const tokens = this.#tokens.tokens(now);
    if (this.#reported && tokens * 2 >= this.#burst) this.#reported = false;
    return tokens < 1;
  }

  /** Milliseconds until there is a token again, 1 at least. */
  waitMs(now: number): number {
    return Math.max(1, this.#tokens.waitMs(now));
  }

  /** True the first time, so that a flood is one line in the log. */
  shouldLog(): boolean {
    const first = !this.#reported;
    this.#reported = true;
    return first;
  }
}

/** The most recently used values by name, in two halves: when the newer half is full, the older one is dropped. */
export class Recent<Value> {
  readonly #make: () => Value;
  #newer = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(make: () => Value) {
    this.#make = make;
  }

  of(name: string): Value {
    const known = this.#newer.get(name);
    if (known !== undefined) return known;
    const value = this.#older.get(name) ?? this.#make();
    if (this.#newer.size * 2 >= limits.throttledSources.max) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(name, value);
    return value;
  }
}
