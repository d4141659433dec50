/** Dispatches each kind of message from a device. */
import type { DeviceMessage } from "@tendon/protocol";
import type { BoardSession } from "../board-session.ts";
import { handleHello } from "./hello.ts";
import { handleMcp } from "./mcp.ts";

export { callAnswered } from "./mcp.ts";

/** `text` is the frame as received. Messages for a voice server are forwarded unchanged. */
export function handleMessage(session: BoardSession, message: DeviceMessage, text: string): void {
  switch (message.type) {
    case "hello":
      handleHello(session, message, text);
      return;
    case "mcp":
      handleMcp(session, message.rpc, text);
      return;
    case "listen":
      if (session.conversation === undefined) session.toolsOnly.listenReceived(message);
      else session.conversation.fromBoard(text, message);
      return;
    case "abort":
    case "custom":
      session.conversation?.fromBoard(text, message);
      return;
    case "goodbye":
      handleGoodbye(session, message.session_id);
      return;
    default:
      message satisfies never;
  }
}

/** [DEV-23] A goodbye of another session is ignored. Over WebSocket no firmware sends one. */
function handleGoodbye(session: BoardSession, sessionId: string | undefined): void {
  if (sessionId !== session.sessionId) return;
  session.endToolsOnly();
  session.endConversation("the board sent a goodbye");
}
