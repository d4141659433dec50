import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

/** The process's pipes as the official client's transport; lines come in from the session. */
export class McpPipes implements Transport {
  /** The client knows pipes by these two: silence then means an older server, not an outage. */
  readonly stderr = null;
  readonly pid = null;
  readonly #write: (text: string) => boolean;
  /** The id that the client gave to the last request it sent. */
  lastRequestId: unknown;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(write: (text: string) => boolean) {
    this.#write = write;
  }

  /**
   * [SRV-14] A message of the process. The client takes a reply in at once and a notification a moment later, so a reply
   * waits that moment: it would end the request, and progress before it on the same pipe would be dropped.
   */
  receive(message: JSONRPCMessage): void {
    if ("method" in message) this.onmessage?.(message);
    else queueMicrotask(() => this.onmessage?.(message));
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message && "id" in message) this.lastRequestId = message.id;
    if (this.#write(`${JSON.stringify(message)}\n`)) return Promise.resolve();
    return Promise.reject(new PipeClosed("the process does not read what it is sent"));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class PipeClosed extends Error {}
