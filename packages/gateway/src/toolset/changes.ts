import type { Clock, Timer } from "../clock.ts";

type Listener = (deviceIds: ReadonlySet<string>) => void;

/** Changes within this time, as when a fleet connects, are reported together. */
const notifyDelayMs = 50;
const maxStored = 50_000;

/** The devices that have changed, in order, for caches that catch up and for listeners. */
export class Changes {
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  /** The first entry is change number `#first`. */
  #devices: string[] = [];
  #first = 0;
  #pending = new Set<string>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of changes so far. */
  get count(): number {
    return this.#first + this.#devices.length;
  }

  add(device: string): void {
    this.#devices.push(device);
    if (this.#devices.length > maxStored) {
      const dropped = this.#devices.length - maxStored / 2;
      this.#devices = this.#devices.slice(dropped);
      this.#first += dropped;
    }
    this.#pending.add(device);
    this.#timer ??= this.#clock.after(notifyDelayMs, () => this.#notify());
  }

  /** The devices that have changed after the first `count` changes; `undefined` if those are no longer stored. */
  since(count: number): ReadonlySet<string> | undefined {
    return count < this.#first ? undefined : new Set(this.#devices.slice(count - this.#first));
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#listeners.clear();
  }

  #notify(): void {
    const devices = this.#pending;
    this.#pending = new Set();
    this.#timer = undefined;
    for (const listener of this.#listeners) listener(devices);
  }
}
