/**
 * The older era: a session with the gateway, which ends when the gateway does. It is opened anew with the words the
 * client opened it with, so that the client notices nothing but a list that may have changed.
 */
import { GatewayAway, type GatewayDoor, messagesOf, pause, refusalOf } from "./gateway-door.ts";
import {
  answeredBy,
  failure,
  isMessage,
  type Message,
  methodOf,
  paramsOf,
  type RequestId,
  requestIdOf,
} from "./message.ts";
import { whyNot } from "./modern-link.ts";
import { Pending } from "./pending.ts";

const patienceMs = 30_000;
const reopenMs = 500;
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

interface Session {
  readonly id: string;
  readonly version: string;
}

export class LegacyLink {
  readonly #door: GatewayDoor;
  readonly #write: (message: Message) => void;
  readonly #pending = new Pending();
  /** The client's own `initialize`, for the next session. */
  #opening: Message | undefined;
  #session: Session | undefined;
  /** While a lost session is opened anew, everybody waits for the same one. */
  #reopening: Promise<Session> | undefined;
  /** What the client asked a session to remember. */
  readonly #watched = new Set<string>();
  #logLevel: Message | undefined;

  constructor(door: GatewayDoor, write: (message: Message) => void) {
    this.#door = door;
    this.#write = write;
  }

  async receive(message: Message): Promise<void> {
    const method = methodOf(message);
    if (method === "initialize") return await this.#open(message);
    if (method === "notifications/initialized") return await this.#initialised(message);
    const { uri, requestId } = paramsOf(message);
    if (method === "notifications/cancelled") this.#pending.forget(requestId as RequestId);
    if (method === "resources/subscribe") this.#watched.add(String(uri));
    if (method === "resources/unsubscribe") this.#watched.delete(String(uri));
    if (method === "logging/setLevel") this.#logLevel = message;
    await this.#pass(message);
  }

  close(): void {
    this.#pending.endAll();
    const session = this.#session;
    if (session === undefined) return;
    // Told, not waited for: a session that nobody ends lapses by itself.
    const signal = AbortSignal.timeout(1_000);
    void this.#door.ask({ method: "DELETE", headers: headersOf(session), signal }).catch(() => undefined);
  }

  async #open(message: Message): Promise<void> {
    this.#opening = message;
    const { ending } = this.#pending;
    try {
      const response = await this.#door.askPatiently({ body: message, signal: ending }, patienceMs);
      if (!response.ok) return this.#write(await refusalOf(response, message));
      const { session, answer } = await readSession(response, requestIdOf(message));
      this.#session = session;
      this.#write(answer ?? failure(message, "internal", "the gateway did not open a session"));
    } catch (error) {
      this.#write(whyNot(message, error));
    }
  }

  async #initialised(message: Message): Promise<void> {
    await this.#pass(message);
    void this.#hear();
  }

  /** One message of the client; where its session is gone, in the next one. */
  async #pass(message: Message): Promise<void> {
    const id = requestIdOf(message);
    const signal = this.#pending.start(id);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const session = await (this.#reopening ?? this.#session);
        const headers = session === undefined ? {} : headersOf(session);
        const response = await this.#door.askPatiently({ headers, body: message, signal }, patienceMs);
        if (response.status === 404 && attempt === 1 && session !== undefined) {
          await this.#reopen(session);
          continue;
        }
        return await this.#passBack(response, message, id);
      }
    } catch (error) {
      if (id !== undefined && !signal.aborted) this.#write(whyNot(message, error));
    } finally {
      this.#pending.done(id);
    }
  }

  async #passBack(response: Response, message: Message, id: RequestId | undefined): Promise<void> {
    if (!response.ok) {
      const refusal = await refusalOf(response, message);
      if (id !== undefined) this.#write(refusal);
      return;
    }
    let answered = id === undefined;
    for await (const { message: said } of messagesOf(response)) {
      answered ||= answeredBy(said) === id;
      this.#write(said);
    }
    // A cancelled request is not answered; every other one has lost its gateway.
    const cancelled = id !== undefined && !this.#pending.has(id);
    if (!answered && !cancelled) {
      this.#write(failure(message, "device_disconnected", "the gateway went away before it answered"));
    }
  }

  /** The session's own stream, opened again and again, in whichever session there is. */
  async #hear(): Promise<void> {
    const { ending } = this.#pending;
    let lastEventId: string | undefined;
    let of: Session | undefined;
    while (!ending.aborted) {
      const session = await (this.#reopening ?? this.#session);
      if (session === undefined) return;
      if (session !== of) lastEventId = undefined;
      of = session;
      try {
        const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
        const headers = { ...headersOf(session), ...resume };
        const response = await this.#door.askPatiently(
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
    const tell = (body: unknown, headers = {}) =>
      this.#door.askPatiently({ headers, body, signal }, patienceMs);
    const response = await tell(this.#opening);
    const { session } = await readSession(response, undefined);
    if (session === undefined) throw new GatewayAway("The gateway opens no session.");
    const headers = headersOf(session);
    const quietly = async (body: unknown) => {
      const answer = await tell(body, headers);
      await answer.body?.cancel();
    };
    await quietly(initialized);
    if (this.#logLevel !== undefined) await quietly({ ...this.#logLevel, id: "bridge-log" });
    for (const uri of this.#watched) {
      await quietly({ jsonrpc: "2.0", id: "bridge-watch", method: "resources/subscribe", params: { uri } });
    }
    // The gateway is another one now: whatever was listed may have changed.
    for (const list of ["tools", "resources"])
      this.#write({ jsonrpc: "2.0", method: `notifications/${list}/list_changed` });
    return session;
  }
}

function headersOf({ id, version }: Session): Record<string, string> {
  return { "mcp-session-id": id, "mcp-protocol-version": version };
}

async function readSession(
  response: Response,
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
