import type { Timers } from "../clock.ts";
import type { ConnectErrorCode } from "../errors.ts";
import type { BackoffOptions } from "./backoff.ts";
import type { Board } from "./board.ts";
import type { ByteText } from "./byte-text.ts";
import type { CjsonNode } from "./cjson-parse.ts";
import type { JsonValue } from "./cjson-print.ts";
import type { DisconnectReason } from "./device-events.ts";

/** What a transport needs from its device. */
export interface TransportHost {
  readonly board: Board;
  readonly timers: Timers;
  readonly pong: boolean;
  /** How long the device waits for the server's hello. */
  readonly helloWaitMs: number;
  /** The content of the device's hello; undefined: it sends no hello. */
  greeting(): Greeting | undefined;
  /** Receives a message with a string `type` that the transport does not handle itself. */
  message(type: ByteText, message: CjsonNode): void;
  audio(packet: Buffer): void;
  frame(direction: "in" | "out", text: ByteText): void;
  ignored(why: string): void;
  /** The server closed the channel. */
  closed(reason: DisconnectReason, code: number | undefined): void;
  /** The server ended the audio session, if that is separate from the channel. */
  goodbye(): void;
  /** A message crashed the device. */
  crashed(cause: string): void;
}

export interface Greeting {
  readonly features: Readonly<Record<string, JsonValue>>;
  readonly textFont: JsonValue | undefined;
}

export type OpenOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly code: ConnectErrorCode;
      readonly detail: string;
      readonly cause?: unknown;
    };

export type SendOutcome = "sent" | "closed" | "too-large";

/** The audio session of a transport where it is separate from the connection. */
export interface AudioChannel {
  readonly isOpen: boolean;
  /** Sends hello and waits for the server's; runs on the main loop and blocks it. */
  open(): Promise<OpenOutcome>;
  /** False when there was none to close. */
  close(manner: "goodbye" | "silent"): boolean;
}

/** The connection to a server, like the firmware's protocol class: the device itself does not use sockets. */
export interface Transport {
  readonly sessionId: ByteText;
  readonly isOpen: boolean;
  /** Undefined if connecting also opens the audio channel, which then blocks the main loop. */
  readonly audio: AudioChannel | undefined;
  /** The delay after a failure, if the transport has its own. */
  readonly retry: BackoffOptions | undefined;
  /** Connects; without a separate `audio` it also waits for the server's hello. */
  open(): Promise<OpenOutcome>;
  /** Disconnects as the firmware does on purpose. */
  close(): void;
  /** Breaks the connection without a message. */
  drop(): void;
  /** Resets the transport's memory, as a power cut does. */
  forget(): void;
  sendText(text: ByteText): SendOutcome;
  sendAudio(packet: Uint8Array, timestamp: number): SendOutcome;
}

export type TransportFactory = (host: TransportHost) => Transport;
