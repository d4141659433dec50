/** Limits the concurrent downloads. Recent offers count too, because a board downloads at once after an offer. */
import { firmwareLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

const offerValidMs = 30_000;

export class Downloads {
  readonly #clock: Clock;
  readonly #running = new Map<string, () => void>();
  /** Devices with an offer and no download yet, with the time when the offer stops counting. */
  readonly #expected = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get hasRoom(): boolean {
    const now = this.#clock.monotonic();
    for (const [device, until] of this.#expected) {
      if (until > now) break;
      this.#expected.delete(device);
    }
    return this.#running.size + this.#expected.size < firmwareLimits.downloadsAtOnce.max;
  }

  expect(device: string): void {
    this.#expected.delete(device);
    this.#expected.set(device, this.#clock.monotonic() + offerValidMs);
  }

  /** Returns false if too many are running. A new download of a board ends its earlier one. */
  begin(device: string, abort: () => void): boolean {
    this.#expected.delete(device);
    this.#running.get(device)?.();
    this.#running.delete(device);
    if (this.#running.size >= firmwareLimits.downloadsAtOnce.max) return false;
    this.#running.set(device, abort);
    return true;
  }

  end(device: string, abort: () => void): void {
    if (this.#running.get(device) === abort) this.#running.delete(device);
  }

  abortAll(): void {
    for (const abort of this.#running.values()) abort();
  }
}
