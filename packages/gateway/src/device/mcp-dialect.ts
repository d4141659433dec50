/**
 * Standard MCP over a process's pipes, through the official client: any existing MCP server can join the fleet. The
 * client speaks the protocol; what the server offers is untrusted all the same and goes through the usual repairs.
 */
import type { Client, JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isObject, type JsonObject, limits, parseJson } from "@tendon/protocol";
import { messageOf } from "../errors.ts";
import { version } from "../version.ts";
import { listPlainTools } from "./listing.ts";
import type { Dialect, ProcessSession } from "./process-session.ts";

const stepTimeoutMs = 20_000;

/** Whatever a server answers is taken as it is and checked by us, tool by tool. */
const anything = {
  "~standard": { version: 1, vendor: "tendon", validate: (value: unknown) => ({ value }) },
} as const;

export class McpDialect implements Dialect {
  readonly #session: ProcessSession;
  readonly #pipes: PipeTransport;
  readonly #running = new Map<number, AbortController>();
  #client: Client | undefined;

  constructor(session: ProcessSession) {
    this.#session = session;
    this.#pipes = new PipeTransport((text) => session.write(text));
    void this.#begin();
  }

  receive(line: string): void {
    const message = parseJson(line);
    if (isObject(message)) this.#pipes.onmessage?.(message as unknown as JSONRPCMessage);
    else this.#session.events.frameNotUnderstood(this.#session.deviceId, "invalid", "not JSON");
  }

  send(id: number, method: string, params: JsonObject): boolean {
    const client = this.#client;
    if (client === undefined) return false;
    const controller = new AbortController();
    this.#running.set(id, controller);
    const options = { signal: controller.signal, timeout: limits.callTimeoutMs.max * 2 };
    client
      .request({ method, params }, anything, options)
      .then(
        (result) => this.#session.settle({ kind: "result", id, result }),
        (error: unknown) =>
          this.#session.settle({ kind: "error", id, message: messageOf(error), salvaged: false }),
      )
      .finally(() => this.#running.delete(id));
    return true;
  }

  giveUp(id: number): void {
    this.#running.get(id)?.abort();
  }

  /** Closing its input is how a standard MCP server is told to go. */
  farewell(): void {
    this.#session.endInput();
  }

  ended(): void {
    for (const controller of this.#running.values()) controller.abort();
    this.#pipes.onclose?.();
  }

  async #begin(): Promise<void> {
    const session = this.#session;
    try {
      const sdk = await import("@modelcontextprotocol/client");
      const client = new sdk.Client({ name: "tendon", version }, { versionNegotiation: { mode: "legacy" } });
      client.fallbackNotificationHandler = async ({ method, params }) => {
        session.notified(method, params);
        if (method === "notifications/tools/list_changed") await this.#list(client);
      };
      await client.connect(this.#pipes, { timeout: stepTimeoutMs });
      this.#client = client;
      await this.#list(client);
    } catch (error) {
      session.events.setupFailed(session.deviceId, "initialize", messageOf(error));
      session.close(1008, `it does not answer as an MCP server (${messageOf(error)})`);
    }
  }

  async #list(client: Client): Promise<void> {
    const listing = await listPlainTools((params) =>
      client.request({ method: "tools/list", params }, anything, { timeout: stepTimeoutMs }),
    );
    const { name, version: firmware } = client.getServerVersion() ?? {};
    const protocolVersion = client.getNegotiatedProtocolVersion();
    this.#session.ready({ protocolVersion, board: name, firmware }, listing);
  }
}

/** The process's pipes as the official client's transport; lines come in from the session. */
class PipeTransport implements Transport {
  readonly #write: (text: string) => boolean;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(write: (text: string) => boolean) {
    this.#write = write;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#write(`${JSON.stringify(message)}\n`)) return Promise.resolve();
    return Promise.reject(new PipeClosed("the process does not read what it is sent"));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class PipeClosed extends Error {}
