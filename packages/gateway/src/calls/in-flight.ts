import { TendonError } from "../errors.ts";

/** Calls that are running, of this node's callers and of other nodes': a gateway that stops waits for them. */
export class InFlight {
  #count = 0;
  #draining = false;
  #onIdle: (() => void) | undefined;

  /** Throws `shutting_down` while the gateway stops. `leave` follows in any other case. */
  enter(): void {
    if (this.#draining)
      throw new TendonError("shutting_down", "the gateway is stopping and takes no new calls");
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  async count<Result>(work: () => Promise<Result>): Promise<Result> {
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Refuses new calls from now on; resolves when the last running one has ended. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }
}
