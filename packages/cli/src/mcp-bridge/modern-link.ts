/** The newer era: every request stands for itself, so a restart is noticed only by those that were under way. */
import { OperationError } from "../errors.ts";
import { GatewayAway, type GatewayDoor, messagesOf, pause, refusalOf } from "./gateway-door.ts";
import {
  answeredBy,
  failure,
  type Message,
  methodOf,
  paramsOf,
  type RequestId,
  requestIdOf,
  revisionOf,
  subscriptionKey,
} from "./message.ts";
import { Pending } from "./pending.ts";

const patienceMs = 30_000;
const reopenMs = 500;
const named = new Set(["tools/call", "prompts/get", "resources/read"]);

export class ModernLink {
  readonly #door: GatewayDoor;
  readonly #write: (message: Message) => void;
  readonly #pending = new Pending();

  constructor(door: GatewayDoor, write: (message: Message) => void) {
    this.#door = door;
    this.#write = write;
  }

  async receive(message: Message): Promise<void> {
    const method = methodOf(message);
    const id = requestIdOf(message);
    if (method === "notifications/cancelled")
      this.#pending.cancel(paramsOf(message)["requestId"] as RequestId);
    else if (method === "subscriptions/listen" && id !== undefined) await this.#listen(message, id);
    else if (id !== undefined) await this.#request(message, id);
  }

  close(): void {
    this.#pending.endAll();
  }

  async #request(message: Message, id: RequestId): Promise<void> {
    const signal = this.#pending.start(id);
    try {
      const response = await this.#door.askPatiently(
        { headers: headersOf(message), body: message, signal },
        patienceMs,
      );
      if (!response.ok) return this.#write(await refusalOf(response, message));
      let answered = false;
      for await (const { message: said } of messagesOf(response)) {
        answered ||= answeredBy(said) === id;
        this.#write(said);
      }
      if (!answered)
        this.#write(failure(message, "device_disconnected", "the gateway went away before it answered"));
    } catch (error) {
      if (!signal.aborted) this.#write(whyNot(message, error));
    } finally {
      this.#pending.done(id);
    }
  }

  /** Kept open for as long as the client wants it: after a restart everything may be new, and the client is told so. */
  async #listen(message: Message, id: RequestId): Promise<void> {
    const signal = this.#pending.start(id);
    let acknowledged = false;
    while (!signal.aborted) {
      try {
        const response = await this.#door.askPatiently(
          { headers: headersOf(message), body: message, signal },
          Number.POSITIVE_INFINITY,
        );
        if (!response.ok) {
          this.#write(await refusalOf(response, message));
          break;
        }
        for await (const { message: said } of messagesOf(response)) {
          // The gateway ends its streams with an answer when it stops; for the client nothing has ended.
          if (answeredBy(said) === id && said["result"] !== undefined) break;
          if (answeredBy(said) === id) return this.#write(said);
          const acknowledges = methodOf(said) === "notifications/subscriptions/acknowledged";
          if (acknowledges && acknowledged) this.#tellAllChanged(message, id);
          else this.#write(said);
          acknowledged ||= acknowledges;
        }
        await pause(reopenMs, signal);
      } catch (error) {
        if (!(error instanceof GatewayAway) && !signal.aborted)
          await pause(reopenMs, signal).catch(() => undefined);
      }
    }
    this.#pending.done(id);
  }

  #tellAllChanged(message: Message, id: RequestId): void {
    const { notifications } = paramsOf(message) as { notifications?: Record<string, unknown> };
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } =
      notifications ?? {};
    const tell = (method: string, params: object = {}) =>
      this.#write({ jsonrpc: "2.0", method, params: { ...params, _meta: { [subscriptionKey]: id } } });
    if (toolsListChanged === true) tell("notifications/tools/list_changed");
    if (promptsListChanged === true) tell("notifications/prompts/list_changed");
    if (resourcesListChanged === true) tell("notifications/resources/list_changed");
    if (!Array.isArray(resourceSubscriptions)) return;
    for (const uri of resourceSubscriptions) tell("notifications/resources/updated", { uri });
  }
}

function headersOf(message: Message): Record<string, string> {
  const method = methodOf(message) ?? "";
  const { name, uri } = paramsOf(message);
  const about = typeof name === "string" ? name : typeof uri === "string" ? uri : undefined;
  return {
    "mcp-protocol-version": revisionOf(message) ?? "",
    "mcp-method": method,
    ...(about !== undefined && named.has(method) ? { "mcp-name": headerValue(about) } : {}),
  };
}

/** What HTTP cannot carry as it is, in the way the protocol has for it. */
function headerValue(text: string): string {
  const sound = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return sound ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

export function whyNot(message: Message, error: unknown): Message {
  if (error instanceof GatewayAway) {
    return failure(message, "gateway_unavailable", error.message);
  }
  if (error instanceof OperationError) return failure(message, "unauthenticated", error.message);
  const said = error instanceof Error ? error.message : String(error);
  return failure(message, "device_disconnected", `the gateway went away before it answered (${said})`);
}
