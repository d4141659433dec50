/**
 * MCP with sessions (2025-11-25 and older). A session ends when the gateway ends. The bridge then opens a new one with
 * the client's own `initialize`, so that the client only sees a notification that the lists may have changed.
 */
import type { GatewayResponse } from "../gateway-fetch.ts";
import {
  connectionLost,
  errorReply,
  forwardMessages,
  type GatewayConnection,
  GatewayUnavailable,
  messagesOf,
  pause,
} from "./gateway-connection.ts";
import {
  failure,
  isMessage,
  type Message,
  methodOf,
  paramsOf,
  type RequestId,
  requestIdOf,
} from "./message.ts";
import { failureOf } from "./modern-link.ts";
import { Pending } from "./pending.ts";

const retryMs = 30_000;
const reopenMs = 500;
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

interface Session {
  readonly id: string;
  readonly version: string;
}

export class LegacyLink {
  readonly #gateway: GatewayConnection;
  readonly #write: (message: Message) => void;
  readonly #pending = new Pending();
  /** The client's own `initialize`, for the next session. */
  #opening: Message | undefined;
  #session: Session | undefined;
  /** While a lost session is being reopened, all requests wait for the same new session. */
  #reopening: Promise<Session> | undefined;
  /** Subscriptions and log level of the client, which a new session needs again. */
  readonly #subscriptions = new Set<string>();
  #logLevel: Message | undefined;

  constructor(gateway: GatewayConnection, write: (message: Message) => void) {
    this.#gateway = gateway;
    this.#write = write;
  }

  async receive(message: Message): Promise<void> {
    const method = methodOf(message);
    if (method === "initialize") return await this.#open(message);
    if (method === "notifications/initialized") return await this.#initialised(message);
    const { uri, requestId } = paramsOf(message);
    if (method === "notifications/cancelled") this.#pending.forget(requestId as RequestId);
    if (method === "resources/subscribe") this.#subscriptions.add(String(uri));
    if (method === "resources/unsubscribe") this.#subscriptions.delete(String(uri));
    if (method === "logging/setLevel") this.#logLevel = message;
    await this.#pass(message);
  }

  close(): void {
    this.#pending.endAll();
    const session = this.#session;
    if (session === undefined) return;
    // Not awaited: a session that is not ended expires automatically.
    const signal = AbortSignal.timeout(1_000);
    void this.#gateway.send({ method: "DELETE", headers: headersOf(session), signal }).catch(() => undefined);
  }

  async #open(message: Message): Promise<void> {
    this.#opening = message;
    const { ending } = this.#pending;
    try {
      const response = await this.#gateway.sendWithRetry({ body: message, signal: ending }, retryMs);
      if (!response.ok) return this.#write(await errorReply(response, message));
      const { session, answer } = await readSession(response, requestIdOf(message));
      this.#session = session;
      this.#write(answer ?? failure(message, "internal", "the gateway did not open a session"));
    } catch (error) {
      this.#write(failureOf(message, error));
    }
  }

  async #initialised(message: Message): Promise<void> {
    await this.#pass(message);
    void this.#readStream();
  }

  /** Forwards one message of the client, in a new session if the current one has ended. */
  async #pass(message: Message): Promise<void> {
    const id = requestIdOf(message);
    const signal = this.#pending.start(id);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const session = await (this.#reopening ?? this.#session);
        const headers = session === undefined ? {} : headersOf(session);
        const response = await this.#gateway.sendWithRetry({ headers, body: message, signal }, retryMs);
        if (response.status === 404 && attempt === 1 && session !== undefined) {
          await this.#reopen(session);
          continue;
        }
        return await this.#passBack(response, message, id);
      }
    } catch (error) {
      if (id !== undefined && !signal.aborted) this.#write(failureOf(message, error));
    } finally {
      this.#pending.done(id);
    }
  }

  async #passBack(response: GatewayResponse, message: Message, id: RequestId | undefined): Promise<void> {
    if (!response.ok) {
      const refusal = await errorReply(response, message);
      if (id !== undefined) this.#write(refusal);
      return;
    }
    const answered = await forwardMessages(response, id, this.#write);
    // A cancelled request gets no reply. For any other request, the connection to the gateway was lost.
    if (id !== undefined && !answered && this.#pending.has(id)) this.#write(connectionLost(message));
  }

  /** Reads the session's event stream and reopens it whenever it ends. */
  async #readStream(): Promise<void> {
    const { ending } = this.#pending;
    let lastEventId: string | undefined;
    let streamSession: Session | undefined;
    while (!ending.aborted) {
      const session = await (this.#reopening ?? this.#session);
      if (session === undefined) return;
      if (session !== streamSession) lastEventId = undefined;
      streamSession = session;
      try {
        const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
        const headers = { ...headersOf(session), ...resume };
        const response = await this.#gateway.sendWithRetry(
          { method: "GET", headers, signal: ending },
          Number.POSITIVE_INFINITY,
        );
        if (response.status === 404) await this.#reopen(session);
        else if (!response.ok) return;
        else {
          for await (const { message, eventId } of messagesOf(response)) {
            lastEventId = eventId ?? lastEventId;
            this.#write(message);
          }
        }
        await pause(reopenMs, ending);
      } catch {
        await pause(reopenMs, ending).catch(() => undefined);
      }
    }
  }

  async #reopen(lost: Session): Promise<void> {
    if (this.#session !== lost) {
      await this.#reopening;
      return;
    }
    this.#reopening ??= this.#openAgain();
    try {
      this.#session = await this.#reopening;
    } finally {
      this.#reopening = undefined;
    }
  }

  async #openAgain(): Promise<Session> {
    const signal = this.#pending.ending;
    const send = (body: unknown, headers = {}) =>
      this.#gateway.sendWithRetry({ headers, body, signal }, retryMs);
    const response = await send(this.#opening);
    const { session } = await readSession(response, undefined);
    if (session === undefined) throw new GatewayUnavailable("The gateway did not open a session.");
    const headers = headersOf(session);
    const sendSilently = async (body: unknown) => {
      const answer = await send(body, headers);
      await answer.body?.cancel();
    };
    await sendSilently(initialized);
    if (this.#logLevel !== undefined) await sendSilently({ ...this.#logLevel, id: "bridge-log" });
    for (const uri of this.#subscriptions) {
      await sendSilently({
        jsonrpc: "2.0",
        id: "bridge-watch",
        method: "resources/subscribe",
        params: { uri },
      });
    }
    // The gateway was restarted, so the lists may have changed.
    for (const list of ["tools", "resources"])
      this.#write({ jsonrpc: "2.0", method: `notifications/${list}/list_changed` });
    return session;
  }
}

function headersOf({ id, version }: Session): Record<string, string> {
  return { "mcp-session-id": id, "mcp-protocol-version": version };
}

async function readSession(
  response: GatewayResponse,
  id: RequestId | undefined,
): Promise<{ session: Session | undefined; answer: Message | undefined }> {
  const sessionId = response.headers.get("mcp-session-id");
  let answer: Message | undefined;
  for await (const { message } of messagesOf(response)) answer = message;
  const result = answer?.["result"];
  if (sessionId === null || !isMessage(result)) return { session: undefined, answer };
  const session = { id: sessionId, version: String(result["protocolVersion"]) };
  return { session, answer: id === undefined ? answer : { ...answer, id } };
}
