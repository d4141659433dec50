import { limits } from "@tendon/protocol";
import type { Config } from "../config/config.ts";

type Rate = Config["limits"]["principal"];

/** Other nodes are told when this part of a burst has been spent, and not told yet. */
const toldParts = 20;

/** So many a second for long, and a burst beside. */
export class Bucket {
  readonly #perMs: number;
  readonly #burst: number;
  #left: number;
  #at: number;
  /** Spent here, and not told to other nodes yet. */
  untold = 0;
  /** Whether it has been told that it ran dry, since it was last half full. */
  #told = false;

  constructor({ perSecond, burst }: Rate, now: number) {
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
    this.#left = burst;
    this.#at = now;
  }

  take(now: number): boolean {
    if (this.isEmpty(now)) return false;
    this.#left -= 1;
    this.untold += 1;
    return true;
  }

  /** So much of it was spent at other nodes; what was too much is owed, up to a burst. */
  spentElsewhere(count: number, now: number): void {
    this.isEmpty(now);
    this.#left = Math.max(this.#left - count, -this.#burst);
  }

  /** Whether enough was spent here that others should hear of it now. */
  get worthTelling(): boolean {
    return this.untold * toldParts >= this.#burst;
  }

  isEmpty(now: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs);
    this.#at = now;
    if (this.#told && this.#left * 2 >= this.#burst) this.#told = false;
    return this.#left < 1;
  }

  /** How long until there is one again, at least. */
  get waitMs(): number {
    return Math.max(1, Math.ceil((1 - this.#left) / this.#perMs));
  }

  /** The first time says yes: a flood is one line in the log. */
  tell(): boolean {
    const first = !this.#told;
    this.#told = true;
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
