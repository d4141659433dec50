/** Wrong secrets cost their address patience; right ones are never counted [CON-3]. */
import { limits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import { TendonError } from "../../errors.ts";

const forgiveMs = 6_000;

export class SignInThrottle {
  readonly #clock: Clock;
  /** When all of an address's failures are forgiven. */
  readonly #clearAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  check(address: string): void {
    const waitMs = this.#debt(address) - (limits.signInFailures.max - 1) * forgiveMs;
    if (waitMs <= 0) return;
    throw new TendonError("rate_limited", "too many wrong secrets from this address; wait a little", {
      retryAfterMs: Math.ceil(waitMs),
    });
  }

  failed(address: string): void {
    const clearAt = this.#clock.monotonic() + this.#debt(address) + forgiveMs;
    this.#clearAt.delete(address);
    this.#clearAt.set(address, clearAt);
    if (this.#clearAt.size > limits.signInSources.max) {
      const [first] = this.#clearAt.keys();
      if (first !== undefined) this.#clearAt.delete(first);
    }
  }

  #debt(address: string): number {
    return Math.max(0, (this.#clearAt.get(address) ?? 0) - this.#clock.monotonic());
  }
}
