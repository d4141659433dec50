import type { VoiceSession, VoiceSessionList } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface VoiceOptions extends TargetOptions {
  readonly json?: boolean;
}

/** Lists the active conversations with their voice server and audio quality. */
export async function voice(options: VoiceOptions): Promise<void> {
  const list = await new GatewayClient(readTarget(options)).get<VoiceSessionList>("/voice/sessions");
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.sessions.length === 0) {
    print("No active conversations.");
    return;
  }
  const now = Date.now();
  await printTable(
    ["DEVICE", "STATE", "TRANSPORT", "VOICE SERVER", "SINCE", "UP", "DOWN", "CALLS"],
    list.sessions.map((session) => [
      colours.bold(session.alias),
      session.state === "speaking" || session.state === "listening"
        ? colours.green(session.state)
        : session.state,
      session.transport,
      plain(session.upstream),
      ago(session.startedAt, now),
      direction(session.up),
      direction(session.down),
      String(session.calls),
    ]),
  );
}

function direction({ packets, lost, jitterMs }: VoiceSession["up"]): string {
  return `${packets} packets, ${lost} lost, jitter ${jitterMs} ms`;
}
