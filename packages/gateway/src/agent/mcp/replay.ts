import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";

interface Kept {
  readonly number: number;
  readonly message: JSONRPCMessage;
}

/**
 * The last messages on a session's own stream, for a client that reconnects with Last-Event-ID. Replies to requests are
 * not kept, because a disconnect cancels the request [SRV-7].
 */
export class Replay {
  readonly #kept: Kept[] = [];
  #last = 0;

  /** Returns the message's event id. */
  keep(message: JSONRPCMessage): string {
    this.#last += 1;
    this.#kept.push({ number: this.#last, message });
    if (this.#kept.length > limits.mcpReplay.max) this.#kept.shift();
    return String(this.#last);
  }

  after(id: string): { readonly id: string; readonly message: JSONRPCMessage }[] {
    const seen = /^\d{1,15}$/.test(id) ? Number(id) : 0;
    return this.#kept
      .filter(({ number }) => number > seen)
      .map(({ number, message }) => ({ id: String(number), message }));
  }
}
