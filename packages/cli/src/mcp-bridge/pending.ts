import type { RequestId } from "./message.ts";

/** Requests under way, each with what stops it. */
export class Pending {
  readonly #controllers = new Map<RequestId, AbortController>();
  readonly #ending = new AbortController();

  /** Ends with everything else when the client is gone. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  start(id: RequestId | undefined): AbortSignal {
    if (id === undefined) return this.#ending.signal;
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    return AbortSignal.any([controller.signal, this.#ending.signal]);
  }

  done(id: RequestId | undefined): void {
    if (id !== undefined) this.#controllers.delete(id);
  }

  cancel(id: RequestId): void {
    this.#controllers.get(id)?.abort();
    this.#controllers.delete(id);
  }

  has(id: RequestId): boolean {
    return this.#controllers.has(id);
  }

  /** Nobody waits for it any more, but its end is still to be seen. */
  forget(id: RequestId): void {
    this.#controllers.delete(id);
  }

  endAll(): void {
    this.#ending.abort();
  }
}
