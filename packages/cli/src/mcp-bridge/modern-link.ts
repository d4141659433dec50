/** MCP without sessions (since 2026-07-28). A gateway restart affects only the requests in flight. */
import { OperationError } from "../errors.ts";
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

const retryMs = 30_000;
const reopenMs = 500;
const named = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

export class ModernLink {
  readonly #gateway: GatewayConnection;
  readonly #write: (message: Message) => void;
  readonly #pending = new Pending();

  constructor(gateway: GatewayConnection, write: (message: Message) => void) {
    this.#gateway = gateway;
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
      const response = await this.#gateway.sendWithRetry(
        { headers: headersOf(message), body: message, signal },
        retryMs,
      );
      if (!response.ok) return this.#write(await errorReply(response, message));
      if (!(await forwardMessages(response, id, this.#write))) this.#write(connectionLost(message));
    } catch (error) {
      if (!signal.aborted) this.#write(failureOf(message, error));
    } finally {
      this.#pending.done(id);
    }
  }

  /** Keeps the subscription open across restarts. After a restart, it notifies the client that everything may have changed. */
  async #listen(message: Message, id: RequestId): Promise<void> {
    const signal = this.#pending.start(id);
    let acknowledged = false;
    while (!signal.aborted) {
      try {
        const response = await this.#gateway.sendWithRetry(
          { headers: headersOf(message), body: message, signal },
          Number.POSITIVE_INFINITY,
        );
        if (!response.ok) {
          this.#write(await errorReply(response, message));
          break;
        }
        for await (const { message: reply } of messagesOf(response)) {
          // A stopping gateway ends the stream with a result. The client's subscription continues, so it is not forwarded.
          if (answeredBy(reply) === id && reply["result"] !== undefined) break;
          if (answeredBy(reply) === id) return this.#write(reply);
          const acknowledges = methodOf(reply) === "notifications/subscriptions/acknowledged";
          if (acknowledges && acknowledged) this.#notifyAllChanged(message, id);
          else this.#write(reply);
          acknowledged ||= acknowledges;
        }
        await pause(reopenMs, signal);
      } catch (error) {
        if (!(error instanceof GatewayUnavailable) && !signal.aborted)
          await pause(reopenMs, signal).catch(() => undefined);
      }
    }
    this.#pending.done(id);
  }

  #notifyAllChanged(message: Message, id: RequestId): void {
    const { notifications } = paramsOf(message) as { notifications?: Record<string, unknown> };
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } =
      notifications ?? {};
    const notify = (method: string, params: object = {}) =>
      this.#write({ jsonrpc: "2.0", method, params: { ...params, _meta: { [subscriptionKey]: id } } });
    if (toolsListChanged === true) notify("notifications/tools/list_changed");
    if (promptsListChanged === true) notify("notifications/prompts/list_changed");
    if (resourcesListChanged === true) notify("notifications/resources/list_changed");
    if (!Array.isArray(resourceSubscriptions)) return;
    for (const uri of resourceSubscriptions) notify("notifications/resources/updated", { uri });
  }
}

function headersOf(message: Message): Record<string, string> {
  const method = methodOf(message) ?? "";
  const { name, uri, taskId } = paramsOf(message);
  const about = [name, uri, taskId].find((value) => typeof value === "string");
  return {
    "mcp-protocol-version": revisionOf(message) ?? "",
    "mcp-method": method,
    ...(about !== undefined && named.has(method) ? { "mcp-name": headerValue(about) } : {}),
  };
}

/** Encodes a value that is not valid in an HTTP header, as the MCP specification defines it. */
function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

export function failureOf(message: Message, error: unknown): Message {
  if (error instanceof GatewayUnavailable) {
    return failure(message, "gateway_unavailable", error.message);
  }
  if (error instanceof OperationError) return failure(message, "unauthenticated", error.message);
  const cause = error instanceof Error ? error.message : String(error);
  return failure(
    message,
    "device_disconnected",
    `the connection to the gateway was lost before it answered (${cause})`,
  );
}
