import { cleanAnswer, cleanValue, type DeviceMessage, type DeviceRpc, limits } from "@tendon/protocol";
import type { BoardSession } from "../board-session.ts";

const METHOD_NOT_FOUND = -32601;

export function handleMcp(session: BoardSession, rpc: DeviceRpc, text: string): void {
  switch (rpc.kind) {
    case "result":
    case "error":
      if (rpc.kind === "error" && rpc.salvaged) session.events.frameSalvaged(session.deviceId);
      // The frame itself is the activity that the probe asked for [DEV-13].
      if (!session.takeProbeReply(rpc.id)) session.requests.settle(rpc);
      return;
    case "notification":
      handleNotification(session, rpc.method, rpc.params);
      // The voice server gets notifications too; replies are only for us.
      session.conversation?.fromBoard(text, { type: "mcp" });
      return;
    case "request":
      handleRequest(session, rpc.id, rpc.method);
      return;
    default:
      rpc satisfies never;
  }
}

/** The call that a message answers. Read before the message is handled, because handling it ends the call. */
export function callAnswered(session: BoardSession, message: DeviceMessage): string | undefined {
  if (message.type !== "mcp") return undefined;
  const { rpc } = message;
  return rpc.kind === "result" || rpc.kind === "error" ? session.requests.callWith(rpc.id) : undefined;
}

/** [RPC-8] Never answered, regardless of the method. */
function handleNotification(session: BoardSession, method: string, params: unknown): void {
  if (session.state.kind === "awaiting_hello") return;
  const size = params === undefined ? 0 : JSON.stringify(params).length;
  if (size > limits.notificationBytes.max || method.length > limits.toolNameLength.max) {
    session.events.frameNotUnderstood(session.deviceId, "invalid", "a notification is too large");
    return;
  }
  session.events.notification(session.deviceId, cleanAnswer(method), cleanValue(params));
  if (method === "notifications/tools/list_changed" && session.state.kind === "mcp") session.setup.relist();
}

/** [RPC-9] Answers a device's ping; rejects any other request. */
function handleRequest(session: BoardSession, id: number | string, method: string): void {
  if (method === "ping") session.sendRpc({ jsonrpc: "2.0", id, result: {} });
  else
    session.sendRpc({ jsonrpc: "2.0", id, error: { code: METHOD_NOT_FOUND, message: "Method not found" } });
}
