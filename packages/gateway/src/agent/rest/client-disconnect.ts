import type { FastifyReply } from "fastify";
import type { Cancellation } from "../../cancellation.ts";

/** Cancels a request's work when its client disconnects before the reply is written. */
export class ClientDisconnect implements Cancellation {
  readonly #reply: FastifyReply;
  #listener: (() => void) | undefined;
  aborted = false;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    reply.raw.once("close", () => {
      if (this.#reply.raw.writableFinished) return;
      this.aborted = true;
      this.#listener?.();
    });
  }

  /** Keeps one listener: the work of a request waits for one thing at a time. */
  addEventListener(_type: "abort", listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
  }
}

/** The same for work that waits for several things at once. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  new ClientDisconnect(reply).addEventListener("abort", () => controller.abort());
  return controller.signal;
}
