/**
 * What was said on a session's own stream, for an agent whose connection broke and who asks what it missed. Answers to
 * requests are not kept: whoever hangs up has given its request up [SRV-7].
 */
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";

/** The SDK's name for the stream that belongs to no request. */
const ownStream = "_GET_stream";
/** An event without an id cannot be asked for. */
const notKept = "";

export class Replay implements EventStore {
  readonly #kept: { readonly number: number; readonly message: JSONRPCMessage }[] = [];
  #last = 0;

  storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    if (streamId !== ownStream) return Promise.resolve(notKept);
    this.#last += 1;
    this.#kept.push({ number: this.#last, message });
    if (this.#kept.length > limits.mcpReplay.max) this.#kept.shift();
    return Promise.resolve(String(this.#last));
  }

  getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return Promise.resolve(/^\d{1,15}$/.test(eventId) ? ownStream : undefined);
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const seen = Number(lastEventId);
    for (const { number, message } of [...this.#kept]) if (number > seen) await send(String(number), message);
    return ownStream;
  }
}
