import { isIPv6 } from "node:net";
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

interface Bucket {
  left: number;
  at: number;
}

/**
 * Failures, or what else there must not be too much of, by whom they come from: so many at once, then one in a while.
 * Whoever does everything right is not counted and never notices. What is remembered is bounded; the oldest, who have
 * waited longest, go first.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #everyMs: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, burst: number, everyMs: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#everyMs = everyMs;
  }

  /** How long until the next one is due; 0 is now. */
  waitMs(who: string): number {
    const bucket = this.#buckets.get(who);
    if (bucket === undefined) return 0;
    this.#refill(bucket);
    return bucket.left >= 1 ? 0 : Math.ceil((1 - bucket.left) * this.#everyMs);
  }

  /** Counts one more; says how long this one ought to have waited with it. */
  count(who: string): number {
    const tooSoon = this.waitMs(who);
    const bucket = this.#buckets.get(who) ?? { left: this.#burst, at: this.#clock.monotonic() };
    this.#refill(bucket);
    bucket.left = Math.max(0, bucket.left - 1);
    this.#buckets.delete(who);
    this.#buckets.set(who, bucket);
    const [oldest] = this.#buckets.size > limits.throttledSources.max ? this.#buckets.keys() : [];
    if (oldest !== undefined) this.#buckets.delete(oldest);
    return tooSoon;
  }

  /** It was not one of those after all. */
  forgive(who: string): void {
    const bucket = this.#buckets.get(who);
    if (bucket !== undefined) bucket.left = Math.min(this.#burst, bucket.left + 1);
  }

  #refill(bucket: Bucket): void {
    const now = this.#clock.monotonic();
    bucket.left = Math.min(this.#burst, bucket.left + (now - bucket.at) / this.#everyMs);
    bucket.at = now;
  }
}

/** Who an address counts as: whoever has one IPv6 address has the other 2^64 of its network too. */
export function sourceOf(address: string | undefined): string {
  if (address === undefined) return "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  const all = [...groups, ...Array.from({ length: zeros }, () => "0"), ...after];
  const network = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
