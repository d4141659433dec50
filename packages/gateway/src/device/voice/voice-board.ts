import type { DeviceHello } from "@tendon/protocol";
import type { AudioLane } from "../link.ts";

/** What the relay knows of a board: who it is, how to reach it, and how to let it rest. */
export interface VoiceBoard {
  readonly deviceId: string;
  readonly clientId: string | undefined;
  readonly sessionId: string;
  readonly transport: string;
  /** Whether hanging up would cut off a call. */
  readonly busy: boolean;
  /** Where audio travels beside the texts; else it goes apart, over UDP. */
  readonly lane: AudioLane | undefined;
  /** Sends a text as it is; false when the board is gone. */
  say(text: string): boolean;
  /** The hello has been answered, so the board's replies flow: its tools can be asked for. */
  welcomed(): void;
  /** A packet came that did not come through its connection. */
  alive(): void;
  /** Makes the board stop listening, in the one way its transport has. */
  hangUp(reason: string): void;
}

/** What a board said to begin with, as it was said and as it was understood. */
export interface BoardHello {
  readonly message: DeviceHello;
  readonly text: string;
}

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
