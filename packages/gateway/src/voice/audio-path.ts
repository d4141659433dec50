import { audioFramingOf } from "@tendon/protocol";
import type { AudioChannel } from "../device/device.ts";

/** How a board's audio travels: on the connection of its texts, or over UDP. */
export interface AudioPath {
  /** The audio framing of both ends of the relay. */
  readonly framing: 1 | 2 | 3;
  /** Fields that the reply to the board's hello has in addition to those of the voice server. */
  readonly helloFields: { readonly [key: string]: unknown };
  /** Sends one frame of the voice server. `sent` is called when it was written. Returns false if it was dropped. */
  toBoard(frame: Uint8Array, sent: () => void): boolean;
  close(): void;
}

/** Audio on the same WebSocket as the texts. Frames pass unchanged, in the framing of the board. */
export function inlineAudioPath(channel: AudioChannel, version: unknown): AudioPath {
  return {
    framing: audioFramingOf(version),
    helloFields: { transport: "websocket" },
    toBoard: (frame, sent) => channel.send(frame, sent),
    close: () => undefined,
  };
}
