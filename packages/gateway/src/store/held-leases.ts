import type { Lease, StoredLeases } from "./leases.ts";

/** `lost`: this run held it until now. `elsewhere`: another live run holds it, or was faster. */
export type Holding = "held" | "lost" | "elsewhere";

/**
 * The leases of one kind that this run of the gateway holds. It claims those whose owner has stopped. A run that was
 * frozen finds its leases lost when it checks them next.
 */
export class HeldLeases {
  readonly #stored: StoredLeases;
  readonly #run: string;
  readonly #isAlive: (run: string) => boolean;
  /** The epoch of each claim of this run. */
  readonly #epochs = new Map<string, number>();

  /** `isAlive` tells whether another run still holds its leases; without a cluster none does. */
  constructor(stored: StoredLeases, run: string, isAlive: (run: string) => boolean = () => false) {
    this.#stored = stored;
    this.#run = run;
    this.#isAlive = isAlive;
  }

  /** The epoch of the claim, which writes of the owner require; `undefined` if this run does not hold it. */
  epochOf(name: string): number | undefined {
    return this.#epochs.get(name);
  }

  /** Claims the lease if no live run holds it. `lease` is what the store has, if the caller has just read it. */
  async check(name: string, lease?: Lease): Promise<Holding> {
    const known = lease ?? (await this.#stored.get(name));
    if (known === undefined) return this.#epochs.delete(name) ? "lost" : "elsewhere";
    const held = this.#epochs.get(name);
    if (held !== undefined) {
      if (known.owner === this.#run && known.epoch === held) return "held";
      this.#epochs.delete(name);
      return "lost";
    }
    if (known.owner !== undefined && known.owner !== this.#run && this.#isAlive(known.owner))
      return "elsewhere";
    const epoch = await this.#stored.claim(name, known, this.#run);
    // Another check of this run may have been faster.
    if (epoch === undefined) return this.#epochs.has(name) ? "held" : "elsewhere";
    this.#epochs.set(name, epoch);
    return "held";
  }

  /** Lets another run claim it. If the store cannot be reached, others claim it when this run has stopped. */
  async release(name: string): Promise<void> {
    const epoch = this.#epochs.get(name);
    this.#epochs.delete(name);
    if (epoch !== undefined) await this.#stored.release(name, epoch).catch(() => undefined);
  }

  /** Stops to hold it without a word to the store: the next check claims it anew. */
  forget(name: string): void {
    this.#epochs.delete(name);
  }
}
