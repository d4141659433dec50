/**
 * Standard MCP over a process's pipes, through the official client: any MCP server of either era can join the fleet.
 * What the server lists is untrusted and goes through the same repairs as a board's tools.
 */
import type { Client, JSONRPCMessage, RequestOptions } from "@modelcontextprotocol/client";
import { isObject, type JsonObject, limits, parseJson } from "@tendon/protocol";
import { messageOf } from "../errors.ts";
import { version } from "../version.ts";
import type { McpCapabilities, McpSubscriptions } from "./device-session.ts";
import { listPlainTools } from "./listing.ts";
import { McpPipes } from "./mcp-pipes.ts";
import { answerableCapabilities, McpQuestions, type RunningCall } from "./mcp-questions.ts";
import { McpWatch } from "./mcp-watch.ts";
import type { Dialect, ProcessSession } from "./process-session.ts";
import type { Relay } from "./relay.ts";

const stepTimeoutMs = 20_000;
/**
 * How long to wait for a reply to the probe of the newer era before the server counts as older. This includes the
 * server's start, which takes seconds on a busy machine, and leaves half of the listing deadline for the older era.
 */
const probeEraMs = 5_000;

/** Accepts any answer of a server. Tendon checks it tool by tool. */
const anything = {
  "~standard": { version: 1, vendor: "tendon", validate: (value: unknown) => ({ value }) },
} as const;

/** Whether the next run of a program is probed for the newer era first. */
export interface McpEra {
  probe: boolean;
}

export class McpDialect implements Dialect {
  readonly #session: ProcessSession;
  readonly #pipes: McpPipes;
  readonly #questions: McpQuestions;
  readonly #startMs: number;
  /** The running call. A server gets one at a time. */
  #running: RunningCall | undefined;
  #client: Client | undefined;
  /** Tells a newer server that the caller answers no questions. */
  #noCapabilities: JsonObject = {};
  #mcp: McpCapabilities | undefined;
  #watch: McpWatch | undefined;
  #listing = false;
  #listAgain = false;

  /** `startMs`: how long the server may take for its first answer. */
  constructor(session: ProcessSession, era: McpEra, startMs = stepTimeoutMs) {
    this.#session = session;
    this.#startMs = startMs;
    this.#pipes = new McpPipes((text) => session.write(text));
    this.#questions = new McpQuestions(session);
    void this.#begin(era);
  }

  get mcp(): McpCapabilities | undefined {
    return this.#mcp;
  }

  get subscriptions(): McpSubscriptions | undefined {
    return this.#mcp?.subscribe === true ? this.#watch : undefined;
  }

  receive(line: string): void {
    const message = parseJson(line);
    if (isObject(message)) {
      const call = this.#running;
      if (call !== undefined && message["method"] === undefined && message["id"] === call.requestId)
        call.answered = true;
      this.#pipes.receive(message as unknown as JSONRPCMessage);
    } else this.#session.notUnderstood("invalid", "a line that is not JSON");
  }

  send(id: number, method: string, params: JsonObject, relay: Relay | undefined): boolean {
    const client = this.#client;
    if (client === undefined) return false;
    const controller = new AbortController();
    const call: RunningCall = {
      id,
      controller,
      relay,
      requestId: undefined,
      answered: false,
      asked: 0,
      open: 0,
      resume: undefined,
    };
    const options: RequestOptions = { signal: controller.signal, timeout: limits.callTimeoutMs.max * 2 };
    const asked = this.#relayed(client, params, relay, options);
    client
      .request({ method, params: asked.params }, anything, asked.options)
      .then(
        (result) => this.#answered(call, result),
        (error: unknown) => this.#failed(call, error),
      )
      .finally(() => this.#over(call));
    call.requestId = this.#pipes.lastRequestId;
    this.#running = call;
    return true;
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    await this.#client?.notification(params === undefined ? { method } : { method, params });
  }

  abandon(id: number): void {
    const call = this.#running;
    if (call?.id !== id) return;
    this.#questions.abandoned(call);
    this.#over(call);
  }

  /** Asks the server for a sign of life. An error is one too. */
  ping(): void {
    void this.#client
      ?.request({ method: "ping" }, anything, { timeout: stepTimeoutMs })
      .catch(() => undefined);
  }

  /** A standard MCP server exits when its input is closed. */
  requestExit(): void {
    this.#session.endInput();
  }

  ended(): void {
    if (this.#running !== undefined) this.#over(this.#running);
    this.#pipes.onclose?.();
  }

  #answered({ id, relay }: RunningCall, result: unknown): void {
    if (relay === undefined && isObject(result) && result["resultType"] === "input_required")
      this.#settleError(id, "the tool asks a question that this caller cannot answer");
    else this.#session.settle({ kind: "result", id, result });
  }

  /** An abandoned call ends with an error of the client library, which is not an answer of the server. */
  #failed({ id, controller }: RunningCall, error: unknown): void {
    if (!controller.signal.aborted) this.#settleError(id, messageOf(error), error);
  }

  #settleError(id: number, message: string, cause?: unknown): void {
    this.#session.settle({ kind: "error", id, message, salvaged: false, cause });
  }

  /** Ends the call and withdraws its open questions. */
  #over(call: RunningCall): void {
    if (this.#running === call) this.#running = undefined;
    call.controller.abort();
  }

  /** [PRC-9] Newer servers get the caller's capabilities with each request. Older ones send questions instead. */
  #relayed(client: Client, params: JsonObject, relay: Relay | undefined, options: RequestOptions) {
    const onprogress: RequestOptions["onprogress"] = (progress) => relay?.progress(progress);
    const reporting = relay === undefined ? options : { ...options, onprogress };
    if (client.getProtocolEra() !== "modern") return { params, options: reporting };
    const { meta = this.#noCapabilities, inputResponses, requestState } = relay ?? {};
    return {
      params: {
        ...params,
        ...(inputResponses === undefined ? {} : { inputResponses }),
        ...(requestState === undefined ? {} : { requestState }),
        _meta: meta,
      },
      options: { ...reporting, allowInputRequired: true },
    };
  }

  async #begin(era: McpEra): Promise<void> {
    const session = this.#session;
    try {
      const sdk = await import("@modelcontextprotocol/client");
      const mode = era.probe ? "auto" : "legacy";
      const client = new sdk.Client(
        { name: "tendon", version },
        {
          versionNegotiation: { mode, probe: { timeoutMs: probeEraMs } },
          capabilities: answerableCapabilities,
        },
      );
      this.#noCapabilities = { [sdk.CLIENT_CAPABILITIES_META_KEY]: {} };
      client.fallbackRequestHandler = ({ method, params = {} }, { mcpReq }) =>
        this.#questions.ask({ method, params }, this.#running, mcpReq.signal);
      client.fallbackNotificationHandler = async ({ method, params }) =>
        this.#notified(client, method, params);
      await client.connect(this.#pipes, { timeout: this.#startMs });
      await session.identify(client.getServerVersion()?.name);
      this.#client = client;
      const watch = new McpWatch(client);
      await watch.start();
      this.#watch = watch;
      this.#mcp = capabilitiesOf(client);
      await this.#list(client);
    } catch (error) {
      // The next run uses the other mode: some servers exit when they are probed for the newer era.
      era.probe = !era.probe;
      session.events.setupFailed(session.deviceId, "initialize", messageOf(error));
      session.close(1008, `the process does not answer as an MCP server (${messageOf(error)})`);
    }
  }

  async #notified(client: Client, method: string, params: unknown): Promise<void> {
    if (this.#session.notified(method, params) && method === "notifications/message" && isObject(params)) {
      this.#running?.relay?.log(params);
    }
    if (method === "notifications/tools/list_changed") this.#relist(client);
  }

  /** One listing at a time. A change during a listing is followed by another. */
  #relist(client: Client): void {
    this.#listAgain = this.#listing;
    if (!this.#listing) this.#session.paceListing(() => void this.#listOnce(client));
  }

  async #listOnce(client: Client): Promise<void> {
    this.#listing = true;
    try {
      await this.#list(client);
    } catch (error) {
      this.#session.events.setupFailed(this.#session.deviceId, "tools/list", messageOf(error));
    }
    this.#listing = false;
    if (this.#listAgain) this.#relist(client);
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

function capabilitiesOf(client: Client): McpCapabilities {
  const { resources, prompts, completions } = client.getServerCapabilities() ?? {};
  return {
    resources: resources !== undefined,
    prompts: prompts !== undefined,
    completions: completions !== undefined,
    asksDuringCalls: client.getProtocolEra() !== "modern",
    subscribe: resources?.subscribe === true,
  };
}
