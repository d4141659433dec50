import { isIPv6 } from "node:net";
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

interface Bucket {
  left: number;
  at: number;
}

/**
 * A token bucket per source for failures and other costly events: a burst, then one per interval. Clients that succeed
 * are not counted. The number of buckets is bounded; the oldest are dropped first.
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

  /** Milliseconds until the next one is allowed; 0 means now. */
  waitMs(who: string): number {
    const bucket = this.#buckets.get(who);
    if (bucket === undefined) return 0;
    this.#refill(bucket);
    return bucket.left >= 1 ? 0 : Math.ceil((1 - bucket.left) * this.#everyMs);
  }

  /** Counts one, and returns how many milliseconds too early it came. */
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

  /** Takes one back that should not have been counted. */
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
