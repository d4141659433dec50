import { TendonError } from "../errors.ts";

/** Counts the running calls, including those that other nodes sent here. A gateway that stops waits for them. */
export class InFlight {
  #count = 0;
  #draining = false;
  #onIdle: (() => void) | undefined;

  /** Throws `shutting_down` while the gateway stops. Otherwise the caller must call `leave` later. */
  enter(): void {
    if (this.#draining)
      throw new TendonError("shutting_down", "the gateway is stopping and accepts no new calls; retry later");
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  async track<Result>(work: () => Promise<Result>): Promise<Result> {
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Rejects new calls from now on; resolves when the last running one has ended. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }
}
