/** How many boards fetch at a time. Offers count for a while: a board that has one fetches at once. */
import { firmwareLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

const offerCountsMs = 30_000;

export class Downloads {
  readonly #clock: Clock;
  readonly #running = new Map<string, () => void>();
  /** Devices that were offered something and have not come for it, with the time when they no longer count. */
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
    this.#expected.set(device, this.#clock.monotonic() + offerCountsMs);
  }

  /** False when there are too many. A board that comes again has given up what it began before. */
  begin(device: string, cut: () => void): boolean {
    this.#expected.delete(device);
    this.#running.get(device)?.();
    this.#running.delete(device);
    if (this.#running.size >= firmwareLimits.downloadsAtOnce.max) return false;
    this.#running.set(device, cut);
    return true;
  }

  end(device: string, cut: () => void): void {
    if (this.#running.get(device) === cut) this.#running.delete(device);
  }

  cutAll(): void {
    for (const cut of this.#running.values()) cut();
  }
}
