/** What a board's session needs from voice/. That module imports this one, so it is passed in as a dependency. */
import type { DeviceHello, JsonObject } from "@tendon/protocol";
import type { AudioChannel } from "./link.ts";

export interface VoiceService {
  /** Whether the board has a voice server and the limit of conversations is not reached. */
  serves(deviceId: string): boolean;
  /** Only if `serves` is true for the board. */
  begin(board: VoiceBoard, hello: BoardHello): VoiceConversation;
  /** A text of a conversation, masked for the frame log. */
  loggable(text: string): string;
  /** [UDP-5] The board lost its connection during a session. It may reconnect and consider the session open. */
  sessionInterrupted(deviceId: string, sessionId: string): void;
  /** The session that a reconnected board may still consider open. */
  takeInterruptedSession(deviceId: string): string | undefined;
}

export interface VoiceConversation {
  readonly over: boolean;
  fromBoard(text: string, message: JsonObject): void;
  audioFromBoard(frame: Uint8Array): void;
  /** The board ended it. */
  leave(reason: string): void;
}

/** A board as voice/ sees it. */
export interface VoiceBoard {
  readonly deviceId: string;
  readonly clientId: string | undefined;
  readonly sessionId: string;
  readonly transport: string;
  /** Whether `hangUp` would interrupt a call. */
  readonly busy: boolean;
  /** Set if audio uses the connection; otherwise audio uses UDP. */
  readonly audioChannel: AudioChannel | undefined;
  /** The voice server has given its own session id, or an empty one. */
  upstreamAnswered(sessionId: string): void;
  /** Sends a text unchanged; false if the board has disconnected. */
  sendText(text: string): boolean;
  /** The hello was answered, so the board can reply and its tools can be listed. */
  helloAnswered(): void;
  /** Records activity outside the connection, such as a UDP packet. */
  alive(): void;
  /** Makes the board stop listening, in the way that its transport supports. */
  hangUp(reason: string): void;
}

/** A board's hello, decoded and as text. */
export interface BoardHello {
  readonly message: DeviceHello;
  readonly text: string;
}
