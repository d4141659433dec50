import type { Clock, Timer } from "../clock.ts";

type Listener = (deviceIds: ReadonlySet<string>) => void;

/** Changes that come together, as when a fleet connects, are told together. */
const tellAfterMs = 50;
const kept = 50_000;

/** Which devices have changed, in order: for whoever keeps something worked out, and for those who want to be told. */
export class Changes {
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  /** The first of them is change number `#first`. */
  #devices: string[] = [];
  #first = 0;
  #untold = new Set<string>();
  #telling: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many there have been. */
  get count(): number {
    return this.#first + this.#devices.length;
  }

  note(device: string): void {
    this.#devices.push(device);
    if (this.#devices.length > kept) {
      const dropped = this.#devices.length - kept / 2;
      this.#devices = this.#devices.slice(dropped);
      this.#first += dropped;
    }
    this.#untold.add(device);
    this.#telling ??= this.#clock.after(tellAfterMs, () => this.#tell());
  }

  /** The devices that have changed since there were so many changes; `undefined` when that is too long ago. */
  since(count: number): ReadonlySet<string> | undefined {
    return count < this.#first ? undefined : new Set(this.#devices.slice(count - this.#first));
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#telling?.cancel();
    this.#listeners.clear();
  }

  #tell(): void {
    const devices = this.#untold;
    this.#untold = new Set();
    this.#telling = undefined;
    for (const listener of this.#listeners) listener(devices);
  }
}
