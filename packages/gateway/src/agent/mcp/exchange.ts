/**
 * One HTTP exchange between Fastify and the SDK, which speaks `Request` and `Response`. Only the headers that MCP
 * defines are handed on: a token never gets further than the door.
 */
import { limits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";

const handedOn = [
  "accept",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
] as const;
const parameterHeader = "mcp-param-";

export class Exchange {
  readonly request: Request;
  readonly body: unknown;
  readonly #reply: FastifyReply;
  readonly #hungUp = new AbortController();
  readonly #onEnd: (() => void)[] = [];

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#reply = reply;
    this.body = request.body;
    this.request = new Request(`http://${request.headers.host ?? "localhost"}${request.url}`, {
      method: request.method,
      headers: headersOf(request),
      signal: this.#hungUp.signal,
    });
    reply.raw.once("close", () => {
      if (!reply.raw.writableFinished) this.#hungUp.abort();
      for (const end of this.#onEnd.splice(0)) end();
    });
  }

  get sessionId(): string | undefined {
    return this.request.headers.get("mcp-session-id") ?? undefined;
  }

  /** Called once, when the answer is out or nobody waits for it any more. */
  onEnd(listener: () => void): void {
    this.#onEnd.push(listener);
  }

  /** Ends an open stream from our side. */
  cut(): void {
    this.#reply.raw.destroy();
  }

  async answer(response: Response): Promise<void> {
    const { raw } = this.#reply;
    if (raw.destroyed) {
      await response.body?.cancel();
      return;
    }
    raw.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null) {
      raw.end();
      return;
    }
    if (response.headers.get("content-type") !== "text/event-stream") {
      raw.end(Buffer.from(await response.arrayBuffer()));
      return;
    }
    raw.flushHeaders();
    await this.#stream(response.body);
  }

  /** Written as it comes: the SDK does not slow down for a reader, so one that falls far behind is cut off. */
  async #stream(body: ReadableStream<Uint8Array>): Promise<void> {
    const { raw } = this.#reply;
    const reader = body.getReader();
    const cancel = () => void reader.cancel().catch(() => undefined);
    raw.once("close", cancel);
    for (;;) {
      const { done, value } = await reader.read();
      if (done || raw.destroyed) break;
      raw.write(value);
      if (raw.writableLength > limits.mcpStreamBufferBytes.max) raw.destroy();
    }
    raw.off("close", cancel);
    raw.end();
  }
}

function headersOf({ headers }: FastifyRequest): Headers {
  const kept = new Headers();
  for (const name of handedOn) {
    const value = headers[name];
    if (typeof value === "string") kept.set(name, value);
  }
  for (const name in headers) {
    const value = headers[name];
    if (name.startsWith(parameterHeader) && typeof value === "string") kept.set(name, value);
  }
  return kept;
}
