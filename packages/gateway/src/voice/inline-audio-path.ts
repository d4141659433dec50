import { audioFramingOf } from "@tendon/protocol";
import type { AudioLane } from "../device/device.ts";
import type { AudioWay } from "./audio-path.ts";

/** Audio on the same WebSocket as the texts: frames pass as they are, in the framing the board has chosen. */
export function besideTexts(lane: AudioLane, version: unknown): AudioWay {
  return {
    framing: audioFramingOf(version),
    helloFields: { transport: "websocket" },
    toBoard: (frame, sent) => lane.send(frame, sent),
    close: () => undefined,
  };
}
