import { audioFramingOf } from "@tendon/protocol";
import type { AudioChannel } from "../device/device.ts";

/** The way of a board's audio: beside its texts, or apart from them over UDP. */
export interface AudioWay {
  /** How both ends of the relay frame their packets. */
  readonly framing: 1 | 2 | 3;
  /** What the answer to the board's hello says beside the voice server's own words. */
  readonly helloFields: { readonly [key: string]: unknown };
  /** One frame of the voice server; `sent` is called when it has left. False: it is lost. */
  toBoard(frame: Uint8Array, sent: () => void): boolean;
  close(): void;
}

/** Audio on the same WebSocket as the texts: frames pass as they are, in the framing the board has chosen. */
export function besideTexts(lane: AudioChannel, version: unknown): AudioWay {
  return {
    framing: audioFramingOf(version),
    helloFields: { transport: "websocket" },
    toBoard: (frame, sent) => lane.send(frame, sent),
    close: () => undefined,
  };
}
