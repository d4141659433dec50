import type { Clock, Timer } from "../clock.ts";

interface Absence {
  readonly id: string;
  readonly online: boolean;
  /** When it was last known to be there. */
  readonly lastSeenAt: number | undefined;
}

/**
 * [AGT-12] How long the tools of a device that has left stay in lists. Time in which the gateway itself was not
 * running does not count: after its restart the lists are what they were.
 */
export class Grace {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onOver: (device: string) => void;
  /** Devices that are away and still listed, in the order in which that ends. */
  readonly #ending = new Map<string, number>();
  readonly #over = new Set<string>();
  #timer: Timer | undefined;

  constructor(clock: Clock, ms: number, onOver: (device: string) => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onOver = onOver;
  }

  isOver(device: string): boolean {
    return this.#over.has(device);
  }

  /** The devices of earlier runs. */
  restore(devices: readonly Absence[]): void {
    const stoppedAt = devices.reduce((latest, { lastSeenAt = 0 }) => Math.max(latest, lastSeenAt), 0);
    const now = this.#clock.now();
    const ends = devices
      .filter(({ online }) => !online)
      .map(({ id, lastSeenAt = 0 }) => ({ id, left: this.#ms - (stoppedAt - lastSeenAt) }))
      .sort((a, b) => a.left - b.left);
    for (const { id, left } of ends) {
      if (left <= 0) this.#over.add(id);
      else this.#ending.set(id, now + left);
    }
    this.#watch();
  }

  /** It is back; says whether it had been left out. */
  came(device: string): boolean {
    this.#ending.delete(device);
    return this.#over.delete(device);
  }

  left(device: string): void {
    this.#ending.delete(device);
    this.#ending.set(device, this.#clock.now() + this.#ms);
    this.#watch();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#ending.clear();
  }

  #watch(): void {
    if (this.#timer !== undefined) return;
    const [first] = this.#ending.values();
    if (first === undefined) return;
    this.#timer = this.#clock.after(Math.max(1, first - this.#clock.now()), () => {
      this.#timer = undefined;
      this.#end();
      this.#watch();
    });
  }

  #end(): void {
    const now = this.#clock.now();
    for (const [device, at] of this.#ending) {
      if (at > now) return;
      this.#ending.delete(device);
      this.#over.add(device);
      this.#onOver(device);
    }
  }
}
