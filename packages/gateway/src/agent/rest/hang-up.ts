import type { FastifyReply } from "fastify";
import type { Cancellation } from "../../cancellation.ts";

/** Cancelled when the caller hangs up before its answer is written: nobody waits for a device on its behalf. */
export class HangUp implements Cancellation {
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

  /** One listener at a time: a request waits for one thing after the other. */
  addEventListener(_type: "abort", listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
  }
}

/** The same for work that waits for many things at once. */
export function hangUpSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  new HangUp(reply).addEventListener("abort", () => controller.abort());
  return controller.signal;
}
