/** The way to the gateway: where it is now, as whom, and how to wait for it while it is away. */
import { createParser } from "eventsource-parser";
import { NoGateway } from "../errors.ts";
import { fetchFrom } from "../gateway-fetch.ts";
import { type McpToken, mcpToken } from "../mcp-token.ts";
import { readTarget, type Target, type TargetOptions } from "../target.ts";
import { failure, type Message, parseMessage, requestIdOf } from "./message.ts";

export interface DoorOptions extends TargetOptions {
  /** Under the gateway's address, such as /mcp. */
  readonly path: string;
}

export interface Ask {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** Nobody listened: nothing can have been sent. */
export class GatewayAway extends Error {
  override readonly name = "GatewayAway";
}

const refused = new Set(["ECONNREFUSED", "ENOENT", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"]);
const shortestPauseMs = 100;
const longestPauseMs = 2_000;

export class GatewayDoor {
  readonly #options: DoorOptions;
  #token: McpToken | undefined;
  /** Whether that is for the gateway of the data folder; an address loses it when that gateway moves elsewhere. */
  #own = false;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Waits while nobody listens, so long as it takes up to `patienceMs`; then throws GatewayAway. */
  async askPatiently(ask: Ask, patienceMs: number): Promise<Response> {
    const until = performance.now() + patienceMs;
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        return await this.ask(ask);
      } catch (error) {
        if (!(error instanceof GatewayAway) || performance.now() + pauseMs > until) throw error;
      }
      await pause(pauseMs, ask.signal);
    }
  }

  async ask({ method = "POST", headers = {}, body, signal }: Ask): Promise<Response> {
    // Read anew each time: after a restart it may listen elsewhere.
    const { target, token } = await this.#gateway();
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
      if (response.status === 401) this.#tokenRefused();
      return response;
    } catch (error) {
      throw isRefusal(error)
        ? new GatewayAway(`No gateway answers at ${target.url}. Start one with \`tendon serve\`.`)
        : error;
    }
  }

  /** It is read again next time: somebody may put another one there. */
  #tokenRefused(): void {
    const file = this.#token?.file;
    this.#token = undefined;
    if (file === undefined) return;
    process.stderr.write(`tendon: the token in ${file} no longer counts; remove the file to get a new one\n`);
  }

  async #gateway(): Promise<{ target: Target; token: string }> {
    try {
      const target = readTarget(this.#options);
      if (this.#own !== target.own) this.#token = undefined;
      this.#own = target.own;
      this.#token ??= await mcpToken(this.#options);
      return { target, token: this.#token.token };
    } catch (error) {
      // Nobody there yet, or nobody to make a token, is as passing as nobody there to answer.
      throw error instanceof NoGateway ? new GatewayAway(error.message) : error;
    }
  }
}

function isRefusal(error: unknown): boolean {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return fault instanceof Error && "code" in fault && refused.has(String(fault.code));
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (signal.aborted) {
      reject(new GatewayAway("given up"));
      return;
    }
    const giveUp = () => {
      clearTimeout(timer);
      reject(new GatewayAway("given up"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    }, ms);
    signal.addEventListener("abort", giveUp, { once: true });
  });
}

export interface Received {
  readonly message: Message;
  /** By which a stream can be resumed. */
  readonly eventId: string | undefined;
}

/** The messages of an answer, as they come: one as JSON, or many as a stream of events. */
export async function* messagesOf(response: Response): AsyncGenerator<Received> {
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

/** What the gateway said instead of an answer, as the answer to a request. */
export async function refusalOf(response: Response, request: Message): Promise<Message> {
  const said = parseMessage(await response.text()) ?? {};
  if (said["jsonrpc"] === "2.0") return { ...said, id: requestIdOf(request) ?? null };
  const { code, detail, title } = said;
  if (typeof code === "string") return failure(request, code, String(detail ?? title ?? ""));
  return failure(request, "bad_request", `the gateway answered ${response.status}`);
}
