/**
 * Standard MCP over a process's pipes, through the official client: any existing MCP server can join the fleet, of
 * either era. The client speaks the protocol; what the server offers is untrusted all the same and goes through the
 * usual repairs.
 */
import type { Client, JSONRPCMessage, RequestOptions } from "@modelcontextprotocol/client";
import { isObject, type JsonObject, limits, parseJson } from "@tendon/protocol";
import { messageOf } from "../errors.ts";
import { version } from "../version.ts";
import type { McpExtras } from "./device-session.ts";
import { listPlainTools } from "./listing.ts";
import { McpPipes } from "./mcp-pipes.ts";
import { McpWatch } from "./mcp-watch.ts";
import type { Dialect, ProcessSession } from "./process-session.ts";
import type { Relay } from "./relay.ts";

const stepTimeoutMs = 20_000;
/** How long a server that does not know the newer era may be silent when it is asked about it. */
const askEraMs = 3_000;

/** Whatever a server answers is taken as it is and checked by us, tool by tool. */
const anything = {
  "~standard": { version: 1, vendor: "tendon", validate: (value: unknown) => ({ value }) },
} as const;

/** Whether the next run of a program is asked about the newer era before it is spoken to in the older. */
export interface McpEra {
  asks: boolean;
}

interface Running {
  readonly controller: AbortController;
  readonly relay: Relay | undefined;
}

export class McpDialect implements Dialect {
  readonly #session: ProcessSession;
  readonly #pipes: McpPipes;
  readonly #running = new Map<number, Running>();
  #client: Client | undefined;
  #extras: McpExtras | undefined;

  constructor(session: ProcessSession, era: McpEra) {
    this.#session = session;
    this.#pipes = new McpPipes((text) => session.write(text));
    void this.#begin(era);
  }

  get extras(): McpExtras | undefined {
    return this.#extras;
  }

  receive(line: string): void {
    const message = parseJson(line);
    if (isObject(message)) this.#pipes.onmessage?.(message as unknown as JSONRPCMessage);
    else this.#session.events.frameNotUnderstood(this.#session.deviceId, "invalid", "not JSON");
  }

  send(id: number, method: string, params: JsonObject, relay: Relay | undefined): boolean {
    const client = this.#client;
    if (client === undefined) return false;
    const controller = new AbortController();
    this.#running.set(id, { controller, relay });
    const options: RequestOptions = { signal: controller.signal, timeout: limits.callTimeoutMs.max * 2 };
    const asked = relay === undefined ? { params, options } : this.#relayed(client, params, relay, options);
    client
      .request({ method, params: asked.params }, anything, asked.options)
      .then(
        (result) => this.#session.settle({ kind: "result", id, result }),
        (error: unknown) =>
          this.#session.settle({
            kind: "error",
            id,
            message: messageOf(error),
            salvaged: false,
            cause: error,
          }),
      )
      .finally(() => this.#running.delete(id));
    return true;
  }

  giveUp(id: number): void {
    this.#running.get(id)?.controller.abort();
  }

  /** Closing its input is how a standard MCP server is told to go. */
  farewell(): void {
    this.#session.endInput();
  }

  ended(): void {
    for (const { controller } of this.#running.values()) controller.abort();
    this.#pipes.onclose?.();
  }

  /** [PRC-9] What the caller is able to do is told to newer servers only: older ones would ask for it unasked. */
  #relayed(client: Client, params: JsonObject, relay: Relay, options: RequestOptions) {
    const onprogress: RequestOptions["onprogress"] = (progress) => relay.progress(progress);
    if (client.getProtocolEra() !== "modern") return { params, options: { ...options, onprogress } };
    const { meta, inputResponses, requestState } = relay;
    return {
      params: {
        ...params,
        ...(inputResponses === undefined ? {} : { inputResponses }),
        ...(requestState === undefined ? {} : { requestState }),
        _meta: meta,
      },
      options: { ...options, onprogress, allowInputRequired: true },
    };
  }

  async #begin(era: McpEra): Promise<void> {
    const session = this.#session;
    try {
      const sdk = await import("@modelcontextprotocol/client");
      const mode = era.asks ? "auto" : "legacy";
      const client = new sdk.Client(
        { name: "tendon", version },
        { versionNegotiation: { mode, probe: { timeoutMs: askEraMs } } },
      );
      client.fallbackNotificationHandler = async ({ method, params }) =>
        this.#notified(client, method, params);
      await client.connect(this.#pipes, { timeout: stepTimeoutMs });
      this.#client = client;
      const watch = new McpWatch(client);
      await watch.start();
      this.#extras = extrasOf(client, watch);
      await this.#list(client);
    } catch (error) {
      // The next run is asked the other way: some servers end when they are asked about the newer era.
      era.asks = !era.asks;
      session.events.setupFailed(session.deviceId, "initialize", messageOf(error));
      session.close(1008, `it does not answer as an MCP server (${messageOf(error)})`);
    }
  }

  async #notified(client: Client, method: string, params: unknown): Promise<void> {
    if (this.#session.notified(method, params) && method === "notifications/message" && isObject(params)) {
      for (const { relay } of this.#running.values()) relay?.log(params);
    }
    if (method === "notifications/tools/list_changed") await this.#list(client);
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

function extrasOf(client: Client, watch: McpWatch): McpExtras {
  const { resources, prompts, completions } = client.getServerCapabilities() ?? {};
  return {
    resources: resources !== undefined,
    prompts: prompts !== undefined,
    completions: completions !== undefined,
    watch: resources?.subscribe === true ? watch : undefined,
  };
}
