/**
 * Requests to MCP servers over HTTP, in the form of `fetch`, for the official client. Connections go to checked addresses
 * only, redirects are not followed, and the size of a reply, or of one event of a stream, is bounded.
 */
import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { AddressRefused, checkedLookup, ipOf, type Resolve } from "./checked-addresses.ts";
import type { Clock } from "./clock.ts";

export interface OutboundStreamOptions {
  readonly clock: Clock;
  /** The maximum size of a reply, and of one event of a stream. */
  readonly maxBytes: number;
  readonly connectMs: number;
  /** Why an IP address is not allowed. */
  readonly check: (address: string) => string | undefined;
  readonly resolve?: Resolve | undefined;
  /** A stream of events that a GET opened: it is open, it has ended, or the server has none. */
  readonly onStream: (state: "open" | "ended" | "none") => void;
  /** What was read, before it is parsed. */
  readonly onBytes: (bytes: number) => void;
}

/** A request without a complete answer. */
export class StreamError extends Error {
  override readonly name = "StreamError";
  /** `lost`: the connection failed. `refused`: the address is not allowed. */
  readonly kind: "lost" | "refused" | "too_large";
  /** False if the server cannot have seen the request. */
  readonly sent: boolean;

  constructor(kind: StreamError["kind"], sent: boolean, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.sent = sent;
  }
}

/** Below the five seconds after which most servers close idle connections, so that none is reused at that moment. */
const idleMs = 4_000;
/** The body of an error is shown to people in part. */
const errorBodyBytes = 16 * 1024;
/** What the client reads. Others are left out, because their values may be invalid for `Response`. */
const passedHeaders = ["content-type", "mcp-session-id", "www-authenticate"] as const;
const bodiless = new Set([204, 205, 304]);

export class OutboundStream {
  readonly #options: OutboundStreamOptions;
  readonly #plain = new http.Agent({ keepAlive: true, timeout: idleMs });
  readonly #secure = new https.Agent({ keepAlive: true, timeout: idleMs });
  readonly #lookup: LookupFunction;
  readonly #open = new Set<http.IncomingMessage>();
  #paused = false;

  constructor(options: OutboundStreamOptions) {
    this.#options = options;
    this.#lookup = checkedLookup(options.check, options.resolve);
  }

  /** Stops reading streams, so that the server's own buffers fill. */
  pause(): void {
    this.#paused = true;
    for (const response of this.#open) response.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const response of this.#open) response.resume();
  }

  stop(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  readonly fetch = async (address: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(address);
    const { method = "GET", headers, body, signal } = init;
    const response = await this.#request(url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      body: typeof body === "string" ? body : "",
      signal: signal ?? undefined,
    });
    const status = response.statusCode ?? 0;
    const type = response.headers["content-type"] ?? "";
    const isStream = status === 200 && /^\s*text\/event-stream\b/i.test(type);
    if (method === "GET") this.#options.onStream(isStream ? "open" : "none");
    const content = isStream ? this.#stream(response, method === "GET") : await this.#read(response, status);
    return new Response(bodiless.has(status) ? null : content, {
      status,
      statusText: http.STATUS_CODES[status] ?? "",
      headers: passedHeaders.flatMap((name): [string, string][] => {
        const value = response.headers[name];
        return typeof value === "string" ? [[name, value]] : [];
      }),
    });
  };

  #request(
    url: URL,
    {
      method,
      headers,
      body,
      signal,
    }: {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<http.IncomingMessage> {
    const ip = ipOf(url.hostname);
    // Node resolves names only; an address in the URL is checked here.
    const problem = ip === undefined ? undefined : this.#options.check(ip.toString());
    if (problem !== undefined)
      return Promise.reject(new StreamError("refused", false, `the address is not allowed (${problem})`));
    const secure = url.protocol === "https:";
    return new Promise((resolve, reject) => {
      let connected = false;
      const request = (secure ? https : http).request(url, {
        method,
        agent: secure ? this.#secure : this.#plain,
        lookup: this.#lookup,
        headers: method === "POST" ? { ...headers, "content-length": Buffer.byteLength(body) } : headers,
        ...(signal === undefined ? {} : { signal }),
      });
      const late = this.#options.clock.after(this.#options.connectMs, () => {
        if (!connected) request.destroy(new StreamError("lost", false, "no connection in time"));
      });
      const connectedNow = () => {
        connected = true;
        late.cancel();
      };
      request.on("socket", (socket) => {
        if (!socket.connecting) connectedNow();
        else socket.once(secure ? "secureConnect" : "connect", connectedNow);
      });
      request.on("error", (error: NodeJS.ErrnoException) => {
        late.cancel();
        reject(this.#failure(error, connected, signal));
      });
      request.on("response", (response) => {
        late.cancel();
        resolve(response);
      });
      request.end(body);
    });
  }

  #failure(error: NodeJS.ErrnoException, connected: boolean, signal: AbortSignal | undefined): Error {
    if (error instanceof StreamError || signal?.aborted === true) return error;
    if (error instanceof AddressRefused) return new StreamError("refused", false, error.message, error);
    return new StreamError("lost", connected, error.code ?? error.name, error);
  }

  /** A whole reply. An error's body is cut, and a longer answer is an error. */
  async #read(response: http.IncomingMessage, status: number): Promise<Uint8Array<ArrayBuffer>> {
    const isAnswer = status >= 200 && status < 300;
    const most = isAnswer ? this.#options.maxBytes : errorBodyBytes;
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.byteLength;
        this.#options.onBytes(chunk.byteLength);
        if (size > most) {
          response.destroy();
          if (isAnswer) throw new StreamError("too_large", true, `the answer has more than ${most} bytes`);
          break;
        }
        chunks.push(chunk);
      }
    } catch (error) {
      if (error instanceof StreamError) throw error;
      throw new StreamError("lost", true, codeOf(error), error);
    }
    return Uint8Array.from(chunks.length === 1 ? (chunks[0] ?? []) : Buffer.concat(chunks));
  }

  #stream(response: http.IncomingMessage, isOwnStream: boolean): ReadableStream<Uint8Array> {
    const { maxBytes, onStream, onBytes } = this.#options;
    const open = this.#open;
    open.add(response);
    const event = new EventSize();
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        response.on("data", (chunk: Buffer) => {
          onBytes(chunk.byteLength);
          if (response.destroyed) return;
          if (event.after(chunk) > maxBytes)
            response.destroy(new StreamError("too_large", true, `an event has more than ${maxBytes} bytes`));
          else controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0 || this.#paused) response.pause();
        });
        response.on("end", () => controller.close());
        response.on("error", (error) => {
          controller.error(
            error instanceof StreamError ? error : new StreamError("lost", true, codeOf(error), error),
          );
        });
        response.on("close", () => {
          open.delete(response);
          if (isOwnStream) onStream("ended");
        });
      },
      pull: () => {
        if (!this.#paused) response.resume();
      },
      cancel: () => {
        response.destroy();
      },
    });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.name : "failed");
}

const eventEnds = ["\n\n", "\r\r", "\r\n\r\n"];

/** The size of the unfinished event of a stream, which may be split anywhere, also within its end. */
class EventSize {
  #size = 0;
  #tail = Buffer.alloc(0);

  after(chunk: Buffer): number {
    const read = Buffer.concat([this.#tail, chunk]);
    const end = Math.max(...eventEnds.map((mark) => read.lastIndexOf(mark)));
    this.#size = end === -1 ? this.#size + chunk.byteLength : read.byteLength - end;
    this.#tail = read.subarray(-3);
    return this.#size;
  }
}
