/**
 * Standard MCP through the official client: any MCP server of either era can join the fleet, over a process's pipes or
 * over HTTP. What the server lists is untrusted and goes through the same repairs as a board's tools.
 */
import type { Client, JSONRPCMessage, RequestOptions, Transport } from "@modelcontextprotocol/client";
import { isObject, type JsonObject, limits } from "@tendon/protocol";
import { messageOf } from "../errors.ts";
import { version } from "../version.ts";
import type { McpCapabilities, McpSubscriptions } from "./device-session.ts";
import { listPlainTools } from "./listing.ts";
import { McpParamHeaders } from "./mcp-param-headers.ts";
import { answerableCapabilities, McpQuestions, type RunningCall } from "./mcp-questions.ts";
import { McpWatch } from "./mcp-watch.ts";
import type { Dialect, ProgramSession } from "./program-session.ts";
import type { Relay } from "./relay.ts";

export type McpSdk = typeof import("@modelcontextprotocol/client");

const stepTimeoutMs = 20_000;
/**
 * How long to wait for a reply to the probe of the newer era before a process counts as older. This includes the
 * server's start, which takes seconds on a busy machine, and leaves half of the listing deadline for the older era.
 */
const probeEraMs = 5_000;

/** Accepts any answer of a server. Tendon checks it tool by tool. */
const anything = {
  "~standard": { version: 1, vendor: "tendon", validate: (value: unknown) => ({ value }) },
} as const;

/** Whether the next connection is probed for the newer era first. */
export interface McpEra {
  probe: boolean;
}

/** The client's transport. */
export interface McpConnection extends Transport {
  /** The id of the client's last request. */
  readonly lastRequestId: unknown;
}

/** What an error of a request says about the connection, beside the request's own failure. */
export type Failure =
  | { readonly kind: "answer"; readonly message: string }
  /** The server has forgotten its session, and has not handled the request. */
  | { readonly kind: "expired" }
  | { readonly kind: "lost"; readonly reason: string; readonly sent: boolean };

/** The connections to one server. */
export interface McpLink {
  readonly era: McpEra;
  /** How long the server may take for its first answer, if it is more than for others. */
  readonly startMs?: number;
  open(sdk: McpSdk): McpConnection;
  failureOf(error: unknown): Failure;
  /** The server has introduced itself. Comes before its tools. */
  introduced?(serverName: string | undefined): Promise<void>;
  /** The server cannot be set up. Ends the session. */
  setupFailed(error: unknown): void;
  /** The stream of changes has ended, and nothing else has. */
  watchLost?(): void;
  /** A caller has given a request up. The server may be gone. */
  abandoned?(): void;
}

interface Request {
  readonly method: string;
  readonly params: JsonObject;
}

export class McpDialect implements Dialect {
  protected readonly session: ProgramSession;
  readonly #link: McpLink;
  readonly #questions: McpQuestions;
  readonly #paramHeaders = new McpParamHeaders();
  /** The running call. A server gets one at a time. */
  #running: RunningCall | undefined;
  #client: Client | undefined;
  #connection: McpConnection | undefined;
  /** A connection whose server has not introduced itself yet. */
  #opening: McpConnection | undefined;
  /** Tells a newer server that the caller answers no questions. */
  #noCapabilities: JsonObject = {};
  #mcp: McpCapabilities | undefined;
  #watch: McpWatch | undefined;
  #renewing: Promise<void> | undefined;
  #listing = false;
  #listAgain = false;

  constructor(session: ProgramSession, link: McpLink) {
    this.session = session;
    this.#link = link;
    this.#questions = new McpQuestions(session);
    void this.#begin();
  }

  get mcp(): McpCapabilities | undefined {
    return this.#mcp;
  }

  get subscriptions(): McpSubscriptions | undefined {
    return this.#mcp?.subscribe === true ? this.#watch : undefined;
  }

  /** Whether a stream of a newer server reports changes. */
  get isWatching(): boolean {
    return this.#watch?.isOpen === true;
  }

  get isModern(): boolean {
    return this.#client?.getProtocolEra() === "modern";
  }

  /** A message of the server, before the client handles it. */
  received(message: JSONRPCMessage): void {
    const call = this.#running;
    if (call !== undefined && !("method" in message) && message.id === call.requestId) call.answered = true;
  }

  send(id: number, method: string, params: JsonObject, relay: Relay | undefined): boolean {
    const client = this.#client;
    if (client === undefined) return false;
    const call: RunningCall = {
      id,
      controller: new AbortController(),
      relay,
      requestId: undefined,
      answered: false,
      asked: 0,
      open: 0,
      resume: undefined,
    };
    this.#running = call;
    this.#dispatch(client, call, { method, params }, true);
    return true;
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    await this.#client?.notification(params === undefined ? { method } : { method, params });
  }

  /** A request past the queue, such as a probe. */
  async ask(method: string, timeoutMs: number): Promise<unknown> {
    const client = this.#client;
    if (client === undefined) throw new NotConnected("not connected");
    const late = new AbortController();
    const timer = this.session.clock.after(timeoutMs, () => late.abort(`no answer within ${timeoutMs} ms`));
    const options = { signal: late.signal, timeout: limits.callTimeoutMs.max };
    try {
      return await client.request({ method }, anything, options);
    } catch (error) {
      throw late.signal.aborted ? new NoAnswer(String(late.signal.reason)) : error;
    } finally {
      timer.cancel();
    }
  }

  abandon(id: number): void {
    const call = this.#running;
    if (call?.id !== id) return;
    this.#questions.abandoned(call);
    this.#over(call);
    this.#link.abandoned?.();
  }

  ended(): void {
    if (this.#running !== undefined) this.#over(this.#running);
    this.#watch?.stop();
    for (const connection of [this.#connection, this.#opening]) {
      void connection?.close();
      connection?.onclose?.();
    }
  }

  /** Opens a new session of a server that has forgotten its own. Several requests may notice it. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** Lists the tools again, at the pace that is allowed. */
  relist(): void {
    if (this.#client !== undefined) this.#relist(this.#client);
  }

  /** Opens the stream of changes again. */
  async rewatch(): Promise<void> {
    await this.#watch?.start();
  }

  #dispatch(client: Client, call: RunningCall, request: Request, mayRepeat: boolean): void {
    const { relay, controller } = call;
    const options: RequestOptions = { signal: controller.signal, timeout: limits.callTimeoutMs.max * 2 };
    const asked = this.#relayed(client, request.params, relay, options);
    client.request({ method: request.method, params: asked.params }, anything, asked.options).then(
      (result) => {
        this.#over(call);
        this.#answered(call, result);
      },
      (error: unknown) => this.#failed(call, request, error, mayRepeat),
    );
    call.requestId = this.#connection?.lastRequestId;
  }

  #answered({ id, relay }: RunningCall, result: unknown): void {
    if (relay === undefined && isObject(result) && result["resultType"] === "input_required")
      this.#settleError(id, "the tool asks a question that this caller cannot answer");
    else this.session.settle({ kind: "result", id, result });
  }

  #failed(call: RunningCall, request: Request, error: unknown, mayRepeat: boolean): void {
    // An abandoned call ends with an error of the client library, which is not an answer of the server.
    if (call.controller.signal.aborted) return;
    const failure = this.#link.failureOf(error);
    if (failure.kind === "expired" && mayRepeat) {
      void this.renew().then(() => {
        const client = this.#client;
        if (client !== undefined && !call.controller.signal.aborted && !this.session.isClosed)
          this.#dispatch(client, call, request, false);
      });
      return;
    }
    this.#over(call);
    if (failure.kind === "lost") this.session.lost(failure.reason, failure.sent);
    else if (failure.kind === "expired")
      this.#settleError(call.id, "the server forgets its sessions at once", error);
    else this.#settleError(call.id, failure.message, error);
  }

  #settleError(id: number, message: string, cause?: unknown): void {
    this.session.settle({ kind: "error", id, message, salvaged: false, cause });
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
    const headers = this.#paramHeaders.of(params);
    return {
      params: {
        ...params,
        ...(inputResponses === undefined ? {} : { inputResponses }),
        ...(requestState === undefined ? {} : { requestState }),
        _meta: meta,
      },
      options: { ...reporting, allowInputRequired: true, ...(headers === undefined ? {} : { headers }) },
    };
  }

  async #begin(): Promise<void> {
    const { era } = this.#link;
    try {
      const client = await this.#connect();
      await this.#list(client);
    } catch (error) {
      // The next connection uses the other mode: some servers exit when they are probed for the newer era.
      era.probe = !era.probe;
      // If the process or connection has ended, the session has reported it already.
      if (!this.session.isClosed) this.#link.setupFailed(error);
    }
  }

  async #renew(): Promise<void> {
    try {
      const old = this.#connection;
      const client = await this.#connect();
      void old?.close();
      this.#relist(client);
    } catch (error) {
      if (!this.session.isClosed) this.#link.setupFailed(error);
    }
  }

  async #connect(): Promise<Client> {
    const sdk = await import("@modelcontextprotocol/client");
    const mode = this.#link.era.probe ? "auto" : "legacy";
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
    client.fallbackNotificationHandler = async ({ method, params }) => this.#notified(client, method, params);
    const connection = this.#link.open(sdk);
    this.#opening = connection;
    await client.connect(connection, { timeout: this.#link.startMs ?? stepTimeoutMs });
    this.#opening = undefined;
    // Set together and without a wait before them, so that a request never gets the id of the other connection.
    this.#connection = connection;
    this.#client = client;
    await this.#link.introduced?.(client.getServerVersion()?.name);
    const watched = this.#watch?.stop() ?? [];
    const watch = new McpWatch(client, this.#link.watchLost?.bind(this.#link));
    await watch.start(watched);
    this.#watch = watch;
    this.#mcp = capabilitiesOf(client);
    return client;
  }

  async #notified(client: Client, method: string, params: unknown): Promise<void> {
    if (this.session.notified(method, params) && method === "notifications/message" && isObject(params)) {
      this.#running?.relay?.log(params);
    }
    if (method === "notifications/tools/list_changed") this.#relist(client);
  }

  /** One listing at a time. A change during a listing is followed by another. */
  #relist(client: Client): void {
    this.#listAgain = this.#listing;
    if (!this.#listing) this.session.paceListing(() => void this.#listOnce(client));
  }

  async #listOnce(client: Client): Promise<void> {
    this.#listing = true;
    try {
      await this.#list(client);
    } catch (error) {
      this.session.events.setupFailed(this.session.deviceId, "tools/list", messageOf(error));
    }
    this.#listing = false;
    if (this.#listAgain) this.#relist(this.#client ?? client);
  }

  async #list(client: Client): Promise<void> {
    const listing = await listPlainTools(async (params) => {
      const page = await client.request({ method: "tools/list", params }, anything, {
        timeout: stepTimeoutMs,
      });
      if (isObject(page)) this.#paramHeaders.learn(page["tools"]);
      return page;
    });
    const { name, version: firmware } = client.getServerVersion() ?? {};
    const protocolVersion = client.getNegotiatedProtocolVersion();
    this.session.ready({ protocolVersion, board: name, firmware }, listing);
  }
}

/** A server did not answer in time. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

class NotConnected extends Error {
  override readonly name = "NotConnected";
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
