/**
 * Answers a voice server's MCP requests to a board [VOI-6]. The server gets the board's tools for agents from the
 * gateway's list, and its calls go through the same pipeline as all calls. Its request ids never reach the board.
 */

import { isObject, type JsonObject, voiceLimits } from "@tendon/protocol";
import { type Cancellation, CancellationSource } from "../cancellation.ts";
import { TendonError } from "../errors.ts";

/** The tools of a board that its voice server may use. */
export interface BoardTools {
  /** Waits while the board is being listed for the first time. */
  list(deviceId: string): Promise<readonly ListedTool[]>;
  about(deviceId: string): {
    readonly board: string | null;
    readonly firmware: string | null;
    readonly protocolVersion: string | null;
  };
  call(
    deviceId: string,
    tool: string,
    args: JsonObject,
    options: { readonly signal: Cancellation; readonly vision: JsonObject | undefined },
  ): Promise<{ readonly content: readonly JsonObject[]; readonly isError: boolean }>;
}

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const fallbackProtocolVersion = "2024-11-05";

class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class UpstreamTools {
  readonly #tools: BoardTools;
  readonly #deviceId: string;
  readonly #send: (payload: JsonObject) => void;
  /** Shared by all calls of the conversation. */
  readonly #ended = new CancellationSource();
  #vision: JsonObject | undefined;
  #running = 0;
  /** The number of calls by the voice server. */
  calls = 0;

  constructor(tools: BoardTools, deviceId: string, send: (payload: JsonObject) => void) {
    this.#tools = tools;
    this.#deviceId = deviceId;
    this.#send = send;
  }

  /** Handles one JSON-RPC message of the voice server; false for one that a board would ignore too. */
  received(payload: unknown): boolean {
    if (!isObject(payload) || payload["jsonrpc"] !== "2.0" || typeof payload["method"] !== "string")
      return false;
    const { id, method, params = {} } = payload;
    if (method.startsWith("notifications")) return true;
    if ((typeof id !== "number" && typeof id !== "string") || !isObject(params)) return false;
    void this.#answer(id, method, params);
    return true;
  }

  /** Cancels the calls that have not been sent to the board yet. */
  stop(): void {
    this.#ended.abort();
  }

  async #answer(id: number | string, method: string, params: JsonObject): Promise<void> {
    let reply: JsonObject;
    try {
      reply = { jsonrpc: "2.0", id, result: await this.#serve(method, params) };
    } catch (error) {
      reply = { jsonrpc: "2.0", id, error: toRpcError(error) };
    }
    if (!this.#ended.aborted) this.#send(reply);
  }

  async #serve(method: string, params: JsonObject): Promise<unknown> {
    switch (method) {
      case "initialize":
        return await this.#initialize(params);
      case "tools/list":
        return await this.#list(params);
      case "tools/call":
        return await this.#call(params);
      default:
        throw new RpcError(METHOD_NOT_FOUND, `Method not implemented: ${method.slice(0, 64)}`);
    }
  }

  async #initialize(params: JsonObject): Promise<JsonObject> {
    const { capabilities } = params;
    const vision = isObject(capabilities) ? capabilities["vision"] : undefined;
    if (isObject(vision) && typeof vision["url"] === "string") {
      const { url, token } = vision;
      this.#vision = { url, ...(typeof token === "string" ? { token } : {}) };
    }
    await this.#tools.list(this.#deviceId);
    const { board, firmware, protocolVersion } = this.#tools.about(this.#deviceId);
    return {
      protocolVersion: protocolVersion ?? fallbackProtocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: board ?? "unknown", version: firmware ?? "0.0.0" },
    };
  }

  async #list(params: JsonObject): Promise<JsonObject> {
    const { cursor } = params;
    const tools = await this.#tools.list(this.#deviceId);
    const page = toolPage(tools, typeof cursor === "string" ? cursor : "");
    if (page === undefined) throw new RpcError(INVALID_PARAMS, "the cursor is not valid");
    return page;
  }

  async #call(params: JsonObject): Promise<JsonObject> {
    const { name, arguments: args = {} } = params;
    if (typeof name !== "string") throw new RpcError(INVALID_PARAMS, "Missing name");
    if (!isObject(args)) throw new RpcError(INVALID_PARAMS, "Invalid arguments");
    if (this.#running >= voiceLimits.callsAtOnce.max) {
      throw new TendonError(
        "queue_full",
        `${this.#running} calls of the voice server are already running; retry when one has finished`,
      );
    }
    this.#running += 1;
    this.calls += 1;
    try {
      const { content, isError } = await this.#tools.call(this.#deviceId, name, args, {
        signal: this.#ended,
        vision: this.#vision,
      });
      return { content, isError };
    } finally {
      this.#running -= 1;
    }
  }
}

/** Errors of a board pass unchanged. Errors of the gateway start with their code, so that a model can react. */
function toRpcError(error: unknown): JsonObject {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (!(error instanceof TendonError)) return { code: INTERNAL, message: "internal: the call failed" };
  const message = error.code === "device_error" ? error.message : `${error.code}: ${error.message}`;
  return { code: error.kind.rpcCode, message };
}

/** A tool as the board itself lists it. */
interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** The firmware's page size. Some voice servers do not support larger pages. */
const pageBytes = 8_000;
const reservedBytes = 30;

/** [VOI-6] One page of the list. The cursor is the name of its first tool. `undefined` for an unknown cursor. */
function toolPage(tools: readonly ListedTool[], cursor: string): JsonObject | undefined {
  const start = cursor === "" ? 0 : tools.findIndex(({ name }) => name === cursor);
  if (start < 0) return undefined;
  const page: ListedTool[] = [];
  let used = '{"tools":['.length + reservedBytes;
  for (const tool of tools.slice(start)) {
    used += Buffer.byteLength(JSON.stringify(tool)) + 1;
    // A tool larger than a page gets a page of its own. The firmware stops listing there and loses all later tools.
    if (used > pageBytes && page.length > 0) return { tools: page, nextCursor: tool.name };
    page.push(tool);
  }
  return { tools: page };
}
