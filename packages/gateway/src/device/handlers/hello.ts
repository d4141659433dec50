import { type DeviceHello, type ServerHello, speaksMcp } from "@tendon/protocol";
import type { BoardSession } from "../board-session.ts";

/** The firmware's own defaults. Without a voice server they have no effect. */
const audioParams = { format: "opus", sample_rate: 24_000, channels: 1, frame_duration: 60 };

/** [DEV-3…5] Replies at once and then starts MCP, after every hello, because the device may have restarted. */
export function handleHello(session: BoardSession, hello: DeviceHello, text: string): void {
  const overMqtt = session.link.transport === "mqtt";
  if (overMqtt) session.renewSessionId();
  // [VOI-1] With a voice server, the conversation replies with the voice server's hello.
  if ((hello.audio_params !== undefined || overMqtt) && session.startConversation({ message: hello, text }))
    return;
  const reply: ServerHello = {
    type: "hello",
    transport: overMqtt ? (hello.transport === "mqtt" ? "mqtt" : "udp") : "websocket",
    session_id: session.sessionId,
    audio_params: audioParams,
    ...(overMqtt ? { udp: session.audioAddress() } : {}),
  };
  if (!session.send(reply)) return;
  const mcp = speaksMcp(hello);
  if (!session.helloReceived(mcp, hello.version)) return;
  if (hello.audio_params !== undefined || overMqtt) session.toolsOnly.begin();
  else session.endToolsOnly();
  if (mcp) session.setup.start();
  else session.setup.stop();
}
