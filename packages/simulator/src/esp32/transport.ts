import type { Timers } from "../clock.ts";
import type { ConnectErrorCode } from "../errors.ts";
import type { BackoffOptions } from "./backoff.ts";
import type { Board } from "./board.ts";
import type { ByteText } from "./byte-text.ts";
import type { CjsonNode } from "./cjson-parse.ts";
import type { JsonValue } from "./cjson-print.ts";
import type { DisconnectReason } from "./device-events.ts";

/** What a transport tells the device it belongs to. */
export interface TransportHost {
  readonly board: Board;
  readonly timers: Timers;
  readonly pong: boolean;
  /** How long the device waits for the server's hello. */
  readonly helloWaitMs: number;
  /** What the device says of itself in its hello; undefined: it says nothing at all. */
  greeting(): Greeting | undefined;
  /** A message with a string `type` that is not the transport's own business. */
  message(type: ByteText, message: CjsonNode): void;
  audio(packet: Buffer): void;
  frame(direction: "in" | "out", text: ByteText): void;
  ignored(why: string): void;
  /** The other side ended the channel. */
  closed(reason: DisconnectReason, code: number | undefined): void;
  /** The server ended the audio session, where that is not the whole channel. */
  goodbye(): void;
  /** A message made the device fall over. */
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

/** The audio session, where it is a thing apart from the connection. */
export interface AudioChannel {
  readonly isOpen: boolean;
  /** Says hello and waits for the server's; runs on the main loop and blocks it. */
  open(): Promise<OpenOutcome>;
  /** False when there was none to close. */
  close(manner: "goodbye" | "silent"): boolean;
}

/** The way to a server, as the firmware's protocol class is: the device above knows nothing of sockets. */
export interface Transport {
  readonly sessionId: ByteText;
  readonly isOpen: boolean;
  /** Undefined where connecting and opening the audio channel are one act, which then blocks the main loop. */
  readonly audio: AudioChannel | undefined;
  /** When to dial again after a failure, where the transport has a habit of its own. */
  readonly retry: BackoffOptions | undefined;
  /** Connects; without an `audio` of its own it waits for the server's hello too. */
  open(): Promise<OpenOutcome>;
  /** Leaves the way the firmware does when it leaves on purpose. */
  close(): void;
  /** Is gone from one moment to the next. */
  drop(): void;
  /** What a power cut does to the transport's memory. */
  forget(): void;
  sendText(text: ByteText): SendOutcome;
  sendAudio(packet: Uint8Array, timestamp: number): SendOutcome;
}

export type TransportFactory = (host: TransportHost) => Transport;
