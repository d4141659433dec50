/** Requests of the bridge to the gateway: finds its current address and token, and waits while it is not running. */
import { createParser } from "eventsource-parser";
import { NoGateway } from "../errors.ts";
import { fetchFrom, type GatewayResponse } from "../gateway-fetch.ts";
import { type McpToken, mcpToken } from "../mcp-token.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type Target, type TargetOptions } from "../target.ts";
import { answeredBy, failure, type Message, parseMessage, type RequestId, requestIdOf } from "./message.ts";

export interface GatewayConnectionOptions extends TargetOptions {
  /** Under the gateway's address, such as /mcp. */
  readonly path: string;
}

export interface GatewayCall {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** No connection was established, so nothing was sent. */
export class GatewayUnavailable extends Error {
  override readonly name = "GatewayUnavailable";
}

const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
const firstPauseMs = 100;
const maxPauseMs = 2_000;

export class GatewayConnection {
  readonly #options: GatewayConnectionOptions;
  #token: McpToken | undefined;
  /** Whether the token is for the data folder's gateway. When that gateway changes its address, the token is read again. */
  #own = false;

  constructor(options: GatewayConnectionOptions) {
    this.#options = options;
  }

  /** Retries for `retryMs` while no gateway is reachable, then throws GatewayUnavailable. */
  async sendWithRetry(call: GatewayCall, retryMs: number): Promise<GatewayResponse> {
    const until = performance.now() + retryMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await this.send(call);
      } catch (error) {
        if (!(error instanceof GatewayUnavailable) || performance.now() + pauseMs > until) throw error;
      }
      await pause(pauseMs, call.signal);
    }
  }

  async send({ method = "POST", headers = {}, body, signal }: GatewayCall): Promise<GatewayResponse> {
    // Read for each request, because a restarted gateway may have another address.
    const { target, token } = await this.#target();
    const url = `${target.url}${this.#options.path}`;
    const request = {
      method,
      headers: {
        accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    };
    try {
      const response = await fetchFrom(target)(url, request);
      if (response.status === 401) this.#forgetToken();
      return response;
    } catch (error) {
      throw isUnreachable(error)
        ? new GatewayUnavailable(
            `No gateway answers at ${target.url}. Start one with \`${ownCommand()} serve\`.`,
          )
        : error;
    }
  }

  /** The next request reads the token again, because the file may have been replaced. */
  #forgetToken(): void {
    const file = this.#token?.file;
    this.#token = undefined;
    if (file === undefined) return;
    process.stderr.write(
      `tendon: the gateway rejects the token in ${file}; remove the file to get a new one\n`,
    );
  }

  async #target(): Promise<{ target: Target; token: string }> {
    try {
      const target = readTarget(this.#options);
      if (this.#own !== target.own) this.#token = undefined;
      this.#own = target.own;
      this.#token ??= await mcpToken(this.#options);
      return { target, token: this.#token.token };
    } catch (error) {
      // Without a running gateway there is no address or token yet. Treat this like an unreachable gateway, and retry.
      throw error instanceof NoGateway ? new GatewayUnavailable(error.message) : error;
    }
  }
}

function isUnreachable(error: unknown): boolean {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return fault instanceof Error && "code" in fault && unreachableCodes.has(String(fault.code));
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (signal.aborted) {
      reject(new GatewayUnavailable("cancelled"));
      return;
    }
    const cancel = () => {
      clearTimeout(timer);
      reject(new GatewayUnavailable("cancelled"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", cancel);
      resolve();
    }, ms);
    signal.addEventListener("abort", cancel, { once: true });
  });
}

export interface Received {
  readonly message: Message;
  /** The id from which the stream can be resumed. */
  readonly eventId: string | undefined;
}

/** The messages of a response as they arrive: one JSON message, or an event stream. */
export async function* messagesOf(response: GatewayResponse): AsyncGenerator<Received> {
  if (response.body === null) return;
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    const message = parseMessage(await response.text());
    if (message !== undefined) yield { message, eventId: undefined };
    return;
  }
  const waiting: Received[] = [];
  const parser = createParser({
    onEvent({ id, data }) {
      const message = data === "" ? undefined : parseMessage(data);
      if (message !== undefined) waiting.push({ message, eventId: id });
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* waiting.splice(0);
  }
}

/** Converts an HTTP error of the gateway into a JSON-RPC reply to the request. */
export async function errorReply(response: GatewayResponse, request: Message): Promise<Message> {
  const body = parseMessage(await response.text()) ?? {};
  if (body["jsonrpc"] === "2.0") return { ...body, id: requestIdOf(request) ?? null };
  const { code, detail, title } = body;
  if (typeof code === "string") return failure(request, code, String(detail ?? title ?? ""));
  return failure(request, "bad_request", `the gateway replied with HTTP status ${response.status}`);
}

/** Writes every message of a response; returns false where the reply to the request was not among them. */
export async function forwardMessages(
  response: GatewayResponse,
  id: RequestId | undefined,
  write: (message: Message) => void,
): Promise<boolean> {
  let answered = false;
  for await (const { message } of messagesOf(response)) {
    answered ||= answeredBy(message) === id;
    write(message);
  }
  return answered;
}

export function connectionLost(request: Message): Message {
  const detail = "the connection to the gateway was lost before it answered";
  return failure(request, "device_disconnected", detail);
}
