import type { Clock, Timer } from "../clock.ts";

interface Absence {
  readonly id: string;
  readonly online: boolean;
  readonly lastSeenAt: number | undefined;
}

/**
 * [AGT-12] Keeps the tools of a disconnected device in lists for a while. The time in which the gateway itself was not
 * running does not count, so that the lists are the same after a restart.
 */
export class OfflineGrace {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onOver: (device: string) => void;
  /** Offline devices that are still listed, with the end of their grace period, the earliest first. */
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

  /** Restores the grace periods of devices of earlier runs. */
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
    this.#schedule();
  }

  /** Ends the grace period of a device that is back; returns whether its tools were no longer listed. */
  end(device: string): boolean {
    this.#ending.delete(device);
    return this.#over.delete(device);
  }

  start(device: string): void {
    this.#ending.delete(device);
    this.#ending.set(device, this.#clock.now() + this.#ms);
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#ending.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    const [first] = this.#ending.values();
    if (first === undefined) return;
    this.#timer = this.#clock.after(Math.max(1, first - this.#clock.now()), () => {
      this.#timer = undefined;
      this.#expire();
      this.#schedule();
    });
  }

  #expire(): void {
    const now = this.#clock.now();
    for (const [device, at] of this.#ending) {
      if (at > now) return;
      this.#ending.delete(device);
      this.#over.add(device);
      this.#onOver(device);
    }
  }
}
