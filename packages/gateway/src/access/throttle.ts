import { isIPv6 } from "node:net";
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { type BucketRate, TokenBucket } from "../token-bucket.ts";

/**
 * A token bucket per source for failures and other costly events: a burst, then one per interval. Clients that succeed
 * are not counted. The number of buckets is bounded; the oldest are dropped first.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #rate: BucketRate;
  readonly #maxSources: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock, rate: BucketRate, maxSources = limits.throttledSources.max) {
    this.#clock = clock;
    this.#rate = rate;
    this.#maxSources = maxSources;
  }

  /** Milliseconds until the next one is allowed; 0 means now. */
  waitMs(source: string): number {
    return this.#buckets.get(source)?.waitMs(this.#clock.monotonic()) ?? 0;
  }

  /** Counts one, and returns how many milliseconds too early it came. */
  count(source: string): number {
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(source) ?? new TokenBucket(this.#rate, now);
    const tooSoon = bucket.waitMs(now);
    bucket.charge(1, now);
    this.#buckets.delete(source);
    this.#buckets.set(source, bucket);
    const [oldest] = this.#buckets.size > this.#maxSources ? this.#buckets.keys() : [];
    if (oldest !== undefined) this.#buckets.delete(oldest);
    return tooSoon;
  }

  /** Reverts one count. */
  refund(source: string): void {
    this.#buckets.get(source)?.refund();
  }
}

/** The source that an address counts as. An IPv6 address counts as its /64 network, which its owner holds entirely. */
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
