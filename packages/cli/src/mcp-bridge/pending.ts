import type { RequestId } from "./message.ts";

/** Requests in flight, each with its abort controller. */
export class Pending {
  readonly #controllers = new Map<RequestId, AbortController>();
  readonly #ending = new AbortController();

  /** Aborts when the client disconnects. */
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

  /** The client cancelled the request, but the gateway's stream is still read to its end. */
  forget(id: RequestId): void {
    this.#controllers.delete(id);
  }

  endAll(): void {
    this.#ending.abort();
  }
}
