/** What a board's session needs of voice/, which builds on this module and is handed in. */
import type { DeviceHello, JsonObject } from "@tendon/protocol";
import type { AudioLane } from "./link.ts";

export interface VoiceService {
  /** Whether the board has a voice server, and there is room for another conversation. */
  serves(deviceId: string): boolean;
  /** Only for a board that it serves. */
  begin(board: VoiceBoard, hello: BoardHello): VoiceConversation;
  /** A text of a conversation as the frame log may keep it. */
  kept(text: string): string;
  /** [UDP-5] The board lost its connection during a session, and may come back without knowing that it has ended. */
  boardCutOff(deviceId: string, sessionId: string): void;
  /** The session that a board which has come back may still believe in. */
  takeCutOff(deviceId: string): string | undefined;
}

export interface VoiceConversation {
  readonly over: boolean;
  fromBoard(text: string, message: JsonObject): void;
  audioFromBoard(frame: Uint8Array): void;
  /** The board has left it. */
  leave(reason: string): void;
}

/** A board as voice/ sees it: its identity, how to reach it, and how to make it stop listening. */
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
