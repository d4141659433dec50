import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";

interface Kept {
  readonly number: number;
  readonly message: JSONRPCMessage;
}

/**
 * What was last said on a session's own stream, for an agent whose connection broke and who asks what it missed.
 * Answers to requests are not kept: whoever hangs up has given its request up [SRV-7].
 */
export class Replay {
  readonly #kept: Kept[] = [];
  #last = 0;

  /** Gives the id by which it can be asked for. */
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
