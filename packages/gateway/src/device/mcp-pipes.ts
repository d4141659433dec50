import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { McpConnection } from "./mcp-dialect.ts";

/** The process's pipes as a transport of the official client. The session passes the lines in. */
export class McpPipes implements McpConnection {
  /** The client recognises pipes by these two fields. Silence then means an older server, not an outage. */
  readonly stderr = null;
  readonly pid = null;
  readonly #write: (text: string) => boolean;
  /** The id of the client's last request. */
  lastRequestId: unknown;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(write: (text: string) => boolean) {
    this.#write = write;
  }

  /**
   * [SRV-14] Passes a message of the process to the client. The client handles a reply at once but a notification a
   * microtask later, so a reply is delayed as well: otherwise it would end the request before earlier progress.
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
    return Promise.reject(new PipeClosed("the process stopped reading its input"));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class PipeClosed extends Error {}
