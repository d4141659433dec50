/**
 * One HTTP exchange of an agent. Real `Request` objects cost more than the rest of a call, so the SDK gets an object with
 * only the properties that it uses. It sees only the headers that MCP defines, and never the token.
 */
import { limits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Cancellation } from "../../cancellation.ts";

const passedHeaders = new Set([
  "accept",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
]);
const parameterHeader = "mcp-param-";
const eventStream = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export class Exchange implements Cancellation {
  readonly body: unknown;
  readonly method: string;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #onEnd: (() => void)[] = [];
  readonly #onDisconnect = new Set<() => void>();
  #disconnected = false;
  #ended = false;
  #streaming = false;

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#request = request;
    this.#reply = reply;
    this.body = request.body;
    this.method = request.method;
    const { raw } = reply;
    raw.once("close", () => {
      if (!raw.writableFinished) {
        this.#disconnected = true;
        for (const listener of this.#onDisconnect) listener();
      }
      this.#ended = true;
      for (const end of this.#onEnd) end();
    });
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    const known = passedHeaders.has(name) || name.startsWith(parameterHeader);
    return known && typeof value === "string" ? value : undefined;
  }

  get sessionId(): string | undefined {
    return this.header("mcp-session-id");
  }

  /** The request for the SDK. Safe: the SDK uses no other properties if it also gets the parsed body. */
  get webRequest(): Request {
    const { url } = this.#request;
    const headers = { get: (name: string) => this.header(name.toLowerCase()) ?? null };
    return { method: this.method, url, headers, signal: this } as unknown as Request;
  }

  /** With the next two methods, the part of an AbortSignal that the SDK uses. It aborts on a disconnect. */
  get aborted(): boolean {
    return this.#disconnected;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#onDisconnect.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#onDisconnect.delete(listener);
  }

  /** Called once, when the reply is sent or the client has disconnected. */
  onEnd(listener: () => void): void {
    if (this.#ended) listener();
    else this.#onEnd.push(listener);
  }

  /** Called if the client disconnects before the reply is sent. */
  onDisconnect(listener: () => void): void {
    if (this.#disconnected) listener();
    else this.#onDisconnect.add(listener);
  }

  /** Closes the connection without a complete reply. */
  destroy(): void {
    this.#reply.raw.destroy();
  }

  /** Replies after an unexpected error. */
  fail(): void {
    if (this.#reply.raw.headersSent) this.destroy();
    else this.send(500, { jsonrpc: "2.0", id: null, error: { code: -32603, message: "Internal error" } });
  }

  get isStreaming(): boolean {
    return this.#streaming;
  }

  /** Sends the complete reply. */
  send(status: number, value: unknown, headers: Record<string, string> = {}): void {
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    const text = value === undefined ? "" : JSON.stringify(value);
    const type = value === undefined ? {} : { "content-type": "application/json" };
    raw.writeHead(status, { ...headers, ...type, "content-length": Buffer.byteLength(text) });
    raw.end(text);
  }

  /** Starts an event stream. */
  startEvents(headers: Record<string, string> = {}): void {
    const { raw } = this.#reply;
    if (raw.destroyed || this.#streaming) return;
    this.#streaming = true;
    raw.writeHead(200, { ...headers, ...eventStream });
    raw.flushHeaders();
  }

  event(message: unknown, id?: string): void {
    this.#write(
      `event: message\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`,
    );
  }

  keepAlive(): void {
    if (this.#streaming) this.#write(": keep-alive\n\n");
  }

  endEvents(): void {
    this.#reply.raw.end();
  }

  /** Sends a reply of the SDK. */
  async answer(response: Response): Promise<void> {
    const { raw } = this.#reply;
    const { body, headers } = response;
    if (raw.destroyed) {
      await body?.cancel();
      return;
    }
    if (body === null || headers.get("content-type") !== "text/event-stream") {
      const text = body === null ? "" : await response.text();
      const length = Buffer.byteLength(text);
      const type = {
        "content-type": headers.get("content-type") ?? "application/json",
        "content-length": length,
      };
      raw.writeHead(response.status, response.ok ? type : { ...Object.fromEntries(headers), ...type });
      raw.end(text);
      return;
    }
    raw.writeHead(response.status, Object.fromEntries(headers));
    raw.flushHeaders();
    await this.#pipe(body);
  }

  async #pipe(body: ReadableStream<Uint8Array>): Promise<void> {
    const { raw } = this.#reply;
    const reader = body.getReader();
    const cancel = () => void reader.cancel().catch(() => undefined);
    raw.once("close", cancel);
    for (;;) {
      const { done, value } = await reader.read();
      if (done || raw.destroyed) break;
      this.#write(value);
    }
    raw.off("close", cancel);
    raw.end();
  }

  /** Writers do not wait for the client, so a client that falls far behind is disconnected. */
  #write(chunk: string | Uint8Array): void {
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    raw.write(chunk);
    if (raw.writableLength > limits.mcpStreamBufferBytes.max) raw.destroy();
  }
}
