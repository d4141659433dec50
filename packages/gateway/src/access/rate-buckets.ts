import { limits } from "@tendon/protocol";
import type { Config } from "../config/config.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";

type Rate = Config["limits"]["principal"];

/** Other nodes are told when this part of a burst has been spent, and not told yet. */
const toldParts = 20;

/** The bucket of a principal or an address, whose spending is reported to other nodes. */
export class Bucket {
  readonly #tokens: TokenBucket;
  readonly #burst: number;
  /** Spent here, and not reported to other nodes yet. */
  untold = 0;
  /** Whether it was reported that it ran dry, since it was last half full. */
  #reported = false;

  constructor({ perSecond: rate, burst }: Rate, now: number) {
    this.#tokens = new TokenBucket({ burst, everyMs: perSecond(rate) }, now);
    this.#burst = burst;
  }

  take(now: number): boolean {
    if (this.isEmpty(now)) return false;
    this.#tokens.charge(1, now, this.#burst);
    this.untold += 1;
    return true;
  }

  /** Charges what was spent at other nodes; the bucket owes at most a burst. */
  spentElsewhere(count: number, now: number): void {
    this.#tokens.charge(count, now, this.#burst);
  }

  /** Whether enough was spent here to report it to other nodes now. */
  get worthTelling(): boolean {
    return this.untold * toldParts >= this.#burst;
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

  /** True the first time: a flood is one line in the log. */
  tell(): boolean {
    const first = !this.#reported;
    this.#reported = true;
    return first;
  }
}

/** The most recently used of something, by name, in two halves: when the newer is full, the older is dropped. */
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
