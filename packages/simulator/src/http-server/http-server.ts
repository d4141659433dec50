/**
 * A simulated MCP server over Streamable HTTP, written without the official SDK: with sessions (2025-11-25), without
 * (2026-07-28), or like Espressif's mcp-c-sdk (numeric ids only, no stream, one JSON answer).
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type HttpFault, httpFaultsNamed } from "./http-faults.ts";
import { HttpTools, type Json, RpcError } from "./http-tools.ts";

export { httpFaults } from "./http-faults.ts";
export { HttpTools } from "./http-tools.ts";

export const httpServerKinds = ["sessions", "modern", "espressif"] as const;
export type HttpServerKind = (typeof httpServerKinds)[number];

export interface HttpServerOptions {
  readonly kind?: HttpServerKind;
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port?: number;
  /** Requests without this bearer token get 401. */
  readonly token?: string;
  readonly faults?: readonly string[];
  readonly onRequest?: (request: { readonly method: string; readonly id: unknown }) => void;
}

type Id = string | number;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly message: Json;
  readonly id: Id | undefined;
}

const path = "/mcp";
const largestBody = 1024 * 1024;
const slowMs = 500;

export class HttpServer {
  readonly tools = new HttpTools(() => this.#changed());
  /** The headers of all requests, for tests. */
  readonly headers: IncomingMessage["headers"][] = [];
  /** The id of each request. */
  readonly ids: unknown[] = [];
  sessionsOpened = 0;
  /** Accepts requests and answers none, as a server that hangs. */
  hangs = false;
  readonly #options: HttpServerOptions;
  readonly #kind: HttpServerKind;
  readonly #faults: ReadonlySet<HttpFault>;
  readonly #server: Server;
  readonly #sessions = new Set<string>();
  readonly #streams = new Set<{ readonly response: ServerResponse; readonly listenId?: Id }>();
  readonly #running = new Map<Id, AbortController>();
  readonly #questions = new Map<Id, (result: Json) => void>();
  #calls = 0;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#kind = options.kind ?? "sessions";
    this.#faults = httpFaultsNamed(options.faults ?? []);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(options: HttpServerOptions = {}): Promise<HttpServer> {
    const server = new HttpServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", reject);
      server.#server.listen(options.port ?? 0, options.host ?? "127.0.0.1", resolve);
    });
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://${this.#options.host ?? "127.0.0.1"}:${this.port}${path}`;
  }

  /** Forgets all sessions, as after a restart. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token } = this.#options;
    this.headers.push(request.headers);
    if (this.hangs) return;
    if (this.#faults.has("redirect")) return void response.writeHead(308, { location: "/elsewhere" }).end();
    if (this.#faults.has("unauthorized") || (token && request.headers.authorization !== `Bearer ${token}`))
      return void response.writeHead(401).end("unauthorized");
    if ((request.url ?? "").split("?")[0] !== path) return void response.writeHead(404).end();
    if (request.method === "GET") return this.#get(response);
    if (request.method === "DELETE") {
      this.#sessions.delete(sessionOf(request));
      return void response.writeHead(this.#kind === "sessions" ? 200 : 405).end();
    }
    const message = await read(request);
    if (message === undefined) return void reply(response, 400, failure(null, -32_700, "Parse error"));
    await this.#post({ request, response, message, id: message["id"] as Id | undefined });
  }

  /** The stream of an older server. */
  #get(response: ServerResponse): void {
    if (this.#kind !== "sessions" || this.#faults.has("no-stream")) return void response.writeHead(405).end();
    this.#stream(response);
  }

  #stream(response: ServerResponse, listenId?: Id): void {
    const stream = listenId === undefined ? { response } : { response, listenId };
    this.#streams.add(stream);
    response.on("close", () => this.#streams.delete(stream));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
  }

  async #post(exchange: Exchange): Promise<void> {
    const { request, response, message, id } = exchange;
    const { method } = message;
    if (id !== undefined && method !== undefined) this.ids.push(id);
    if (method !== undefined) this.#options.onRequest?.({ method: String(method), id });
    if (this.#kind === "espressif" && id !== undefined && typeof id !== "number")
      return reply(response, 200, failure(id, -32_600, "Invalid Request"));
    if (method === undefined) {
      this.#questions.get(id ?? "")?.((message["result"] ?? {}) as Json);
      return void response.writeHead(202).end();
    }
    if (id === undefined) {
      if (method === "notifications/cancelled") {
        const { requestId } = message["params"] as { readonly requestId: Id };
        this.#running.get(requestId)?.abort();
      }
      return void response.writeHead(202).end();
    }
    if (this.#kind === "sessions" && method !== "initialize" && !this.#admit(request, response, method))
      return;
    try {
      await this.#answer(exchange, id, String(method));
    } catch (error) {
      const code = error instanceof RpcError ? error.code : -32_603;
      reply(response, 200, failure(id, code, error instanceof Error ? error.message : "failed"));
    }
  }

  /** Whether the request has a session that the server knows. */
  #admit(request: IncomingMessage, response: ServerResponse, method: unknown): boolean {
    const old = this.#faults.has("lose-sessions-400");
    if (method === "tools/call" && (old || this.#faults.has("lose-sessions"))) {
      this.#calls += 1;
      if (this.#calls % 2 === 1) this.#sessions.clear();
    }
    if (this.#sessions.has(sessionOf(request))) return true;
    const text = old ? "Bad Request: No valid session ID provided" : "Session not found";
    reply(response, old ? 400 : 404, failure(null, old ? -32_000 : -32_001, text));
    return false;
  }

  async #answer(exchange: Exchange, id: Id, method: string): Promise<void> {
    const { response, message } = exchange;
    const params = (message["params"] ?? {}) as Json;
    const modern = this.#kind === "modern";
    const done = modern ? { resultType: "complete" } : {};
    switch (method) {
      case "initialize": {
        if (modern) break;
        const headers: Record<string, string> = {};
        if (this.#kind === "sessions") {
          const session = randomUUID();
          this.#sessions.add(session);
          headers["mcp-session-id"] = session;
        }
        this.sessionsOpened += 1;
        const protocolVersion = this.#kind === "espressif" ? "2024-11-05" : "2025-11-25";
        return reply(response, 200, result(id, { protocolVersion, ...this.#identity() }), headers);
      }
      case "server/discover":
        if (!modern) break;
        return reply(
          response,
          200,
          result(id, {
            ...done,
            supportedVersions: ["2026-07-28"],
            ttlMs: 0,
            cacheScope: "private",
            ...this.#identity(),
          }),
        );
      case "subscriptions/listen": {
        if (!modern) break;
        this.#stream(response, id);
        const acknowledged = { ...subscription(id), notifications: params["notifications"] };
        write(response, {
          jsonrpc: "2.0",
          method: "notifications/subscriptions/acknowledged",
          params: acknowledged,
        });
        return;
      }
      case "ping":
        if (modern || this.#faults.has("no-ping")) break;
        return reply(response, 200, result(id, {}));
      case "tools/list":
        return reply(
          response,
          200,
          result(id, {
            ...done,
            ...(modern ? { ttlMs: 0, cacheScope: "private" } : {}),
            tools: this.tools.list(),
          }),
        );
      case "tools/call":
        return await this.#call(exchange, id, params, done);
    }
    reply(response, modern ? 404 : 200, failure(id, -32_601, `Method not found: ${method}`));
  }

  #identity(): Json {
    const listChanged = this.#kind !== "espressif";
    const capabilities = { tools: { listChanged } };
    const serverInfo = { name: `simulated-${this.#kind}`, version: "1.0.0" };
    if (this.#kind !== "modern") return { capabilities, serverInfo };
    return { capabilities, _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } };
  }

  async #call(exchange: Exchange, id: Id, params: Json, done: Json): Promise<void> {
    const { response } = exchange;
    const faults = this.#faults;
    if (faults.has("mute")) return;
    if (faults.has("http-500")) return void response.writeHead(500).end("the lamp is on fire");
    if (faults.has("drop-mid-call")) return void exchange.request.socket.destroy();
    if (faults.has("broken-json"))
      return void response.writeHead(200, { "content-type": "application/json" }).end("{no");
    if (faults.has("huge-answer"))
      return reply(response, 200, result(id, { content: [{ type: "text", text: "x".repeat(2_097_152) }] }));
    if (faults.has("slow")) await new Promise((resolve) => setTimeout(resolve, slowMs));
    const streams = this.#kind !== "espressif";
    if (streams) response.writeHead(200, { "content-type": "text/event-stream" });
    if (faults.has("end-stream")) return void response.end();
    if (faults.has("flood"))
      for (let at = 0; at < 10_000; at += 1) write(response, notification("notifications/noise", { at }));
    const controller = new AbortController();
    this.#running.set(id, controller);
    if (this.#kind === "modern") response.on("close", () => controller.abort());
    const { progressToken } = (params["_meta"] ?? {}) as { readonly progressToken?: Id };
    const run = this.tools.run(String(params["name"]), {
      args: (params["arguments"] ?? {}) as Json,
      headers: exchange.request.headers,
      signal: controller.signal,
      progress: (progress, total) => {
        if (streams && progressToken !== undefined)
          write(response, notification("notifications/progress", { progressToken, progress, total }));
      },
      ask: (text) => this.#ask(response, params, text),
    });
    const message = await run.then(
      (value) => result(id, { ...done, ...value }),
      (error: unknown) =>
        error instanceof InputRequired
          ? result(id, error.result)
          : failure(id, error instanceof RpcError ? error.code : -32_603, (error as Error).message),
    );
    this.#running.delete(id);
    if (!streams) return reply(response, 200, message);
    write(response, message);
    response.end();
  }

  /** An older server asks during the call; a newer one ends the round with its question. */
  async #ask(response: ServerResponse, params: Json, message: string): Promise<Json> {
    const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const question = { mode: "form", message, requestedSchema: form };
    if (this.#kind === "espressif") throw new RpcError(-32_603, "this server cannot ask");
    if (this.#kind === "modern") {
      const given = (params["inputResponses"] as Json | undefined)?.["name"];
      if (given !== undefined) return given as Json;
      throw new InputRequired(question);
    }
    const id = randomUUID();
    const answered = new Promise<Json>((resolve) => {
      this.#questions.set(id, resolve);
    });
    write(response, { jsonrpc: "2.0", id, method: "elicitation/create", params: question });
    return await answered;
  }

  #changed(): void {
    for (const { response, listenId } of this.#streams)
      write(
        response,
        notification(
          "notifications/tools/list_changed",
          listenId === undefined ? {} : subscription(listenId),
        ),
      );
  }
}

class InputRequired extends Error {
  override readonly name = "InputRequired";
  readonly result: Json;

  constructor(params: Json) {
    super("input required");
    this.result = {
      resultType: "input_required",
      inputRequests: { name: { method: "elicitation/create", params } },
    };
  }
}

function subscription(id: Id): Json {
  return { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
}

function notification(method: string, params: Json): Json {
  return { jsonrpc: "2.0", method, params };
}

function result(id: Id, value: Json): Json {
  return { jsonrpc: "2.0", id, result: value };
}

function failure(id: Id | null, code: number, message: string): Json {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function reply(
  response: ServerResponse,
  status: number,
  message: Json,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(message));
}

function write(response: ServerResponse, message: Json): void {
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

function sessionOf(request: IncomingMessage): string {
  const value = request.headers["mcp-session-id"];
  return typeof value === "string" ? value : "";
}

async function read(request: IncomingMessage): Promise<Json | undefined> {
  let body = "";
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > largestBody) return undefined;
  }
  try {
    return JSON.parse(body) as Json;
  } catch {
    return undefined;
  }
}
