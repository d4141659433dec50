/** What each kind of message from a device means: the whole protocol on one screen. */
import type { DeviceMessage } from "@tendon/protocol";
import type { BoardSession } from "../board-session.ts";
import { handleHello } from "./hello.ts";
import { handleMcp } from "./mcp.ts";

export function handleMessage(session: BoardSession, message: DeviceMessage): void {
  switch (message.type) {
    case "hello":
      handleHello(session, message);
      return;
    case "mcp":
      handleMcp(session, message.rpc);
      return;
    case "listen":
    case "abort":
    case "goodbye":
    case "custom":
      // Talk for a voice server; there is none, and the device was told so when it said hello [DEV-22].
      return;
    default:
      message satisfies never;
  }
}
