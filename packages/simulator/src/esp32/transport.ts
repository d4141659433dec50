import type { Timers } from "../clock.ts";
import type { ConnectErrorCode } from "../errors.ts";
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

/** The way to a server, as the firmware's protocol class is: the device above knows nothing of sockets. */
export interface Transport {
  readonly sessionId: ByteText;
  readonly isOpen: boolean;
  /** Opens the channel and waits for the server's hello; runs on the main loop and blocks it. */
  open(): Promise<OpenOutcome>;
  /** Leaves without a word. */
  close(): void;
  /** What a power cut does to the transport's memory. */
  forget(): void;
  sendText(text: ByteText): SendOutcome;
  sendAudio(packet: Uint8Array, timestamp: number): SendOutcome;
}

export type TransportFactory = (host: TransportHost) => Transport;
