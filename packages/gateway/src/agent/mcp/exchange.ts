/**
 * One HTTP exchange of an agent. The SDK speaks `Request` and `Response`, which cost more than all the rest of a call,
 * so it is given the little of a request that it looks at; only the headers that MCP defines are handed on, and a
 * token never gets further than the door.
 */
import { limits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Cancellation } from "../../cancellation.ts";

const handedOn = new Set([
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
  readonly #onHangUp = new Set<() => void>();
  #hungUp = false;
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
        this.#hungUp = true;
        for (const hungUp of this.#onHangUp) hungUp();
      }
      this.#ended = true;
      for (const end of this.#onEnd) end();
    });
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    const known = handedOn.has(name) || name.startsWith(parameterHeader);
    return known && typeof value === "string" ? value : undefined;
  }

  get sessionId(): string | undefined {
    return this.header("mcp-session-id");
  }

  /** As the SDK knows a request. Safe: it looks at nothing else where it is handed the body. */
  get webRequest(): Request {
    const { url } = this.#request;
    const headers = { get: (name: string) => this.header(name.toLowerCase()) ?? null };
    return { method: this.method, url, headers, signal: this } as unknown as Request;
  }

  /** This and the next two: the exchange as the signal that it was hung up, as far as the SDK uses one. */
  get aborted(): boolean {
    return this.#hungUp;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#onHangUp.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#onHangUp.delete(listener);
  }

  /** Called once, when the answer is out or nobody waits for it any more. */
  onEnd(listener: () => void): void {
    if (this.#ended) listener();
    else this.#onEnd.push(listener);
  }

  /** Called when whoever waits is gone before the answer is out. */
  onHangUp(listener: () => void): void {
    if (this.#hungUp) listener();
    else this.#onHangUp.add(listener);
  }

  /** Ends it from our side, whatever is still to come. */
  cut(): void {
    this.#reply.raw.destroy();
  }

  /** After a fault of ours. */
  fail(): void {
    if (this.#reply.raw.headersSent) this.cut();
    else this.send(500, { jsonrpc: "2.0", id: null, error: { code: -32603, message: "Internal error" } });
  }

  get isStreaming(): boolean {
    return this.#streaming;
  }

  /** The whole answer at once. */
  send(status: number, value: unknown, headers: Record<string, string> = {}): void {
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    const text = value === undefined ? "" : JSON.stringify(value);
    const type = value === undefined ? {} : { "content-type": "application/json" };
    raw.writeHead(status, { ...headers, ...type, "content-length": Buffer.byteLength(text) });
    raw.end(text);
  }

  /** From now on events are written as they come. */
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

  /** A sign of life on a stream of our own. */
  keepAlive(): void {
    if (this.#streaming) this.#write(": keep-alive\n\n");
  }

  endEvents(): void {
    this.#reply.raw.end();
  }

  /** An answer of the SDK. */
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

  /** Nobody slows down for a reader, so one that falls far behind is cut off. */
  #write(chunk: string | Uint8Array): void {
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    raw.write(chunk);
    if (raw.writableLength > limits.mcpStreamBufferBytes.max) raw.destroy();
  }
}
