import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { Clock } from "../clock.ts";
import { StreamError } from "../outbound-stream.ts";
import type { McpConnection, McpSdk } from "./mcp-dialect.ts";

export interface HttpTransportOptions {
  readonly sdk: McpSdk;
  readonly clock: Clock;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Receives each message of the server; `deliver` passes it to the client. */
  readonly onMessage: (message: JSONRPCMessage, deliver: () => void) => void;
  readonly onSend: (message: JSONRPCMessage) => void;
  /** The answer to a request broke off. */
  readonly onAnswerLost: () => void;
}

/** The first wire id of probes. The client counts its own ids from 0. */
const firstProbeId = 2 ** 30;
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/**
 * The official HTTP transport of one session. All ids on the wire are numbers, because some servers reject others: the
 * client's probe of the newer era has a text. Only the stream of changes of that era keeps its id, as its name.
 */
export class HttpTransport implements McpConnection {
  /** Closing the answer of a request cancels it in the newer era. */
  readonly hasPerRequestStream = true;
  lastRequestId: unknown;
  onmessage?: Transport["onmessage"];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #options: HttpTransportOptions;
  readonly #inner: InstanceType<McpSdk["StreamableHTTPClientTransport"]>;
  readonly #probes = new Map<number, string | number>();
  /** The running requests of an older session. A cancelled one has no answer, so that its stream is closed here. */
  readonly #open = new Map<string | number, AbortController>();
  #nextProbe = firstProbeId;
  #closed = false;

  constructor(options: HttpTransportOptions) {
    const { sdk, clock, url, headers, fetch } = options;
    this.#options = options;
    this.#inner = new sdk.StreamableHTTPClientTransport(new URL(url), {
      fetch,
      requestInit: { headers, redirect: "manual" },
      reconnectionOptions: {
        initialReconnectionDelay: firstPauseMs,
        maxReconnectionDelay: maxPauseMs,
        reconnectionDelayGrowFactor: 2,
        // Until the session ends: the probe finds out whether the server is there.
        maxRetries: Number.MAX_SAFE_INTEGER,
      },
      reconnectionScheduler: (reconnect, delay) => {
        const timer = clock.after(Math.max(delay, firstPauseMs), reconnect);
        return () => timer.cancel();
      },
    });
    this.#inner.onmessage = (message) => this.#received(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => this.onclose?.();
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion(version);

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const isRequest = "method" in message && "id" in message;
    if (isRequest) this.lastRequestId = message.id;
    this.#options.onSend(message);
    if (!isRequest) {
      await this.#inner.send(message, withoutUndefined(options));
      if ("method" in message && message.method === "notifications/cancelled")
        this.#cancelled(message.params);
      return;
    }
    const sent =
      message.method === "server/discover" ? { ...message, id: this.#probeId(message.id) } : message;
    const { id } = message;
    const controller = new AbortController();
    this.#open.set(id, controller);
    const requestSignal =
      options.requestSignal === undefined
        ? controller.signal
        : AbortSignal.any([options.requestSignal, controller.signal]);
    try {
      await this.#inner.send(sent, {
        ...withoutUndefined(options),
        requestSignal,
        onRequestStreamEnd: () => {
          options.onRequestStreamEnd?.();
          const isWaiting = this.#open.delete(id);
          if (isWaiting && message.method !== "subscriptions/listen" && !this.#closed)
            this.#options.onAnswerLost();
        },
      });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#inner.close();
  }

  /** Tells the server that the session is over, if it has one. */
  async terminate(): Promise<void> {
    await this.#inner.terminateSession().catch(() => undefined);
  }

  #probeId(id: string | number): number {
    const wireId = this.#nextProbe;
    this.#nextProbe += 1;
    this.#probes.set(wireId, id);
    return wireId;
  }

  #cancelled(params: unknown): void {
    const { requestId } = (params ?? {}) as { readonly requestId?: string | number };
    if (requestId === undefined) return;
    const controller = this.#open.get(requestId);
    this.#open.delete(requestId);
    controller?.abort();
  }

  /** [SRV-14] The client handles a notification a microtask later than a reply, so that a reply is delayed as well. */
  #received(message: JSONRPCMessage): void {
    if ("method" in message) {
      this.#options.onMessage(message, () => this.onmessage?.(message));
      return;
    }
    const probed = typeof message.id === "number" ? this.#probes.get(message.id) : undefined;
    const reply = probed === undefined ? message : { ...message, id: probed };
    if (reply.id !== undefined) this.#open.delete(reply.id);
    this.#options.onMessage(reply, () => queueMicrotask(() => this.onmessage?.(reply)));
  }
}

type SendOptions = NonNullable<Parameters<InstanceType<McpSdk["StreamableHTTPClientTransport"]>["send"]>[1]>;

function withoutUndefined(options: TransportSendOptions): SendOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** The HTTP status of an error of the transport, and the server's text. */
export function httpErrorOf(error: unknown): { status: number; text: string } | undefined {
  const { data } = (error ?? {}) as {
    readonly data?: { readonly status?: unknown; readonly text?: unknown };
  };
  if (typeof data?.status !== "number") return undefined;
  return { status: data.status, text: typeof data.text === "string" ? data.text : "" };
}

/** The failed connection behind an error of the client, which wraps some. */
export function streamErrorOf(error: unknown): StreamError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof StreamError) return at;
  return undefined;
}
