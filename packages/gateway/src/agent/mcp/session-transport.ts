/**
 * Streamable HTTP of the older era, for one session of the SDK's server. A reply is plain JSON unless other messages
 * come before it, the session's own stream can be resumed, and a disconnect cancels the request [SRV-7].
 */
import {
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type MessageExtraInfo,
  parseJSONRPCMessage,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { isObject, limits } from "@tendon/protocol";
import type { Exchange } from "./exchange.ts";
import { Replay } from "./replay.ts";
import { rpcError } from "./rpc-error.ts";

/** One POST and its requests that are not answered yet. */
interface PendingPost {
  readonly exchange: Exchange;
  readonly waiting: Set<RequestId>;
}

export class SessionTransport implements Transport {
  readonly sessionId: string;
  readonly #pending = new Map<RequestId, PendingPost>();
  readonly #replay = new Replay();
  #stream: Exchange | undefined;
  #state: "new" | "open" | "closed" = "new";
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** Whether `initialize` was accepted. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  serve(exchange: Exchange): void {
    const version = exchange.header("mcp-protocol-version");
    if (this.#state === "closed") rpcError(exchange, 404, -32001, "Session not found");
    else if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      const known = SUPPORTED_PROTOCOL_VERSIONS.join(", ");
      rpcError(exchange, 400, -32000, `Bad Request: Unsupported protocol version (supported: ${known})`);
    } else if (exchange.method === "POST") this.#post(exchange);
    else if (exchange.method === "GET") this.#get(exchange);
    else if (exchange.method === "DELETE") {
      exchange.send(200, undefined);
      void this.close();
    } else rpcError(exchange, 405, -32000, "Method not allowed.", { allow: "GET, POST, DELETE" });
  }

  /** Turns a slow reply into a stream, so that proxies do not time out. */
  keepAlive(): void {
    for (const { exchange } of this.#pending.values()) exchange.startEvents(this.#headers());
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      if (message.id !== undefined) this.#answer(message.id, message);
    } else if (options?.relatedRequestId !== undefined) {
      const pending = this.#pending.get(options.relatedRequestId);
      pending?.exchange.startEvents(this.#headers());
      pending?.exchange.event(message);
    } else {
      this.#stream?.event(message, this.#replay.keep(message));
      if (this.#stream === undefined) this.#replay.keep(message);
    }
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (this.#state === "closed") return Promise.resolve();
    this.#state = "closed";
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.onclose?.();
    for (const { exchange } of pending) exchange.destroy();
    this.#stream?.endEvents();
    return Promise.resolve();
  }

  #post(exchange: Exchange): void {
    const accept = exchange.header("accept") ?? "";
    if (!accept.includes("application/json") || !accept.includes("text/event-stream")) {
      const wanted = "application/json and text/event-stream";
      rpcError(exchange, 406, -32000, `Not Acceptable: Client must accept both ${wanted}`);
      return;
    }
    const messages = readMessages(exchange.body);
    if (messages === undefined) {
      rpcError(exchange, 400, -32600, "Invalid Request: not a JSON-RPC message");
      return;
    }
    const opening = messages.some((message) => isInitializeRequest(message));
    if (opening && (this.#state !== "new" || messages.length > 1)) {
      rpcError(exchange, 400, -32600, "Invalid Request: Server already initialized");
      return;
    }
    const ids = messages.filter(isJSONRPCRequest).map(({ id }) => id);
    if (ids.some((id) => this.#pending.has(id)) || new Set(ids).size < ids.length) {
      rpcError(exchange, 400, -32600, "Invalid Request: an id is in use");
      return;
    }
    this.#state = "open";
    if (ids.length === 0) exchange.send(202, undefined);
    else this.#wait(exchange, ids);
    for (const message of messages) {
      this.onmessage?.(message);
      this.#endCancelled(message);
    }
  }

  #wait(exchange: Exchange, ids: readonly RequestId[]): void {
    const pending = { exchange, waiting: new Set(ids) };
    for (const id of ids) this.#pending.set(id, pending);
    // Several replies need a stream.
    if (ids.length > 1) exchange.startEvents(this.#headers());
    exchange.onDisconnect(() => {
      for (const requestId of pending.waiting) {
        this.#pending.delete(requestId);
        const params = { requestId, reason: "the client disconnected" };
        this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
      }
    });
  }

  #answer(id: RequestId, message: JSONRPCMessage): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.waiting.delete(id);
    const { exchange, waiting } = pending;
    if (!exchange.isStreaming) exchange.send(200, message, this.#headers());
    else {
      exchange.event(message);
      if (waiting.size === 0) exchange.endEvents();
    }
  }

  /** The SDK does not answer a cancelled request, so its POST is ended here. */
  #endCancelled(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const requestId = isObject(message.params) ? message.params["requestId"] : undefined;
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return;
    this.#pending.delete(requestId);
    pending.waiting.delete(requestId);
    if (pending.waiting.size > 0) return;
    pending.exchange.startEvents(this.#headers());
    pending.exchange.endEvents();
  }

  #get(exchange: Exchange): void {
    if (!(exchange.header("accept") ?? "").includes("text/event-stream")) {
      rpcError(exchange, 406, -32000, "Not Acceptable: Client must accept text/event-stream");
      return;
    }
    if (this.#stream !== undefined) {
      rpcError(exchange, 409, -32000, "Conflict: Only one SSE stream is allowed per session");
      return;
    }
    this.#stream = exchange;
    exchange.onEnd(() => {
      if (this.#stream === exchange) this.#stream = undefined;
    });
    exchange.startEvents(this.#headers());
    const lastSeen = exchange.header("last-event-id");
    if (lastSeen === undefined) return;
    for (const { id, message } of this.#replay.after(lastSeen)) exchange.event(message, id);
  }

  #headers(): Record<string, string> {
    return { "mcp-session-id": this.sessionId };
  }
}

/** One message, or a batch, as revisions before 2025-06-18 allow; `undefined` if it is neither. */
function readMessages(body: unknown): JSONRPCMessage[] | undefined {
  const given: unknown[] = Array.isArray(body) ? body : [body];
  if (given.length === 0 || given.length > limits.mcpBatch.max) return undefined;
  try {
    return given.map((message) => parseJSONRPCMessage(message));
  } catch {
    return undefined;
  }
}
