/** What each kind of message from a device means: the whole protocol on one screen. */
import type { DeviceMessage } from "@tendon/protocol";
import type { BoardSession } from "../board-session.ts";
import { handleHello } from "./hello.ts";
import { handleMcp } from "./mcp.ts";

/** `text` is the frame as it came: what is for a voice server is passed on as it is. */
export function handleMessage(session: BoardSession, message: DeviceMessage, text: string): void {
  switch (message.type) {
    case "hello":
      handleHello(session, message, text);
      return;
    case "mcp":
      handleMcp(session, message.rpc, text);
      return;
    case "listen":
      if (session.conversation === undefined) session.toolsOnly.listens(message);
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

/** [DEV-23] Of another session than the present one it means nothing; over WebSocket no firmware says it. */
function handleGoodbye(session: BoardSession, sessionId: string | undefined): void {
  if (sessionId !== session.sessionId) return;
  session.toolsOnly.end();
  session.endConversation("the board said goodbye");
}
