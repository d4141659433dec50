import { type DeviceHello, type ServerHello, speaksMcp } from "@tendon/protocol";
import type { BoardSession } from "../board-session.ts";

/** What the firmware falls back to as well; nobody hears it while there is no voice server. */
const audioParams = { format: "opus", sample_rate: 24_000, channels: 1, frame_duration: 60 };

/** [DEV-3…5] Answered at once, then MCP starts, after every hello: the device may have rebooted in between. */
export function handleHello(session: BoardSession, hello: DeviceHello, text: string): void {
  const apart = session.link.transport === "mqtt";
  if (apart) session.renewSessionId();
  // [VOI-1] With a voice server the answer is the server's, and comes with it.
  if ((hello.audio_params !== undefined || apart) && session.converse({ message: hello, text })) return;
  const reply: ServerHello = {
    type: "hello",
    transport: apart ? (hello.transport === "mqtt" ? "mqtt" : "udp") : "websocket",
    session_id: session.sessionId,
    audio_params: audioParams,
    ...(apart ? { udp: session.audioAddress() } : {}),
  };
  if (!session.send(reply)) return;
  const mcp = speaksMcp(hello);
  session.greet(mcp, hello.version);
  if (hello.audio_params !== undefined || apart) session.toolsOnly.begin();
  else session.toolsOnly.end();
  if (mcp) session.setup.start();
  else session.setup.stop();
}
