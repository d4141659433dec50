import type { ServerContext } from "@modelcontextprotocol/server";
import type { Cancellation } from "../../cancellation.ts";

/**
 * When nobody waits for a request any more: it was cancelled, its session ended, or the connection that waits for the
 * answer is gone [SRV-7].
 */
export function givenUp({ mcpReq, http }: ServerContext): Cancellation {
  const hungUp = http?.req?.signal;
  return hungUp === undefined ? mcpReq.signal : new EitherSignal(mcpReq.signal, hungUp);
}

/** The same for work that waits for many things at once. */
export function givenUpSignal({ mcpReq, http }: ServerContext): AbortSignal {
  const hungUp = http?.req?.signal;
  return hungUp === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, hungUp]);
}

class EitherSignal implements Cancellation {
  readonly #signals: readonly AbortSignal[];

  constructor(...signals: AbortSignal[]) {
    this.#signals = signals;
  }

  get aborted(): boolean {
    return this.#signals.some(({ aborted }) => aborted);
  }

  addEventListener(type: "abort", listener: () => void): void {
    for (const signal of this.#signals) signal.addEventListener(type, listener);
  }

  removeEventListener(type: "abort", listener: () => void): void {
    for (const signal of this.#signals) signal.removeEventListener(type, listener);
  }
}
