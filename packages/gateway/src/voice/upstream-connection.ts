/**
 * One connection to a voice server on behalf of one board [VOI-1, VOI-2], with limits on time, size and rate. The
 * listener gets decoded messages, and the end exactly once.
 */
import { isObject, type JsonObject, parseJson, voiceLimits } from "@tendon/protocol";
import { type RawData, WebSocket } from "ws";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";

/** How the connection to a voice server ended or failed. */
export interface UpstreamEnd {
  readonly kind:
    | "unreachable"
    | "refused"
    | "inactive"
    | "silent"
    | "closed"
    | "broken"
    | "flooded"
    | "stalled"
    | "left";
  readonly detail: string;
  /** A retry may succeed. */
  readonly transient?: boolean;
  /** The activation code that the user has to enter at the voice server. */
  readonly code?: string | undefined;
}

export interface UpstreamListener {
  /** The reply to our hello. Everything else follows it. */
  hello(message: JsonObject, text: string): void;
  text(message: JsonObject, text: string): void;
  audio(frame: Buffer): void;
  /** An invalid frame, which is counted and ignored. */
  invalidFrame(): void;
  ended(end: UpstreamEnd): void;
}

export interface UpstreamTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

type State =
  | { readonly kind: "connecting"; readonly hello: string; readonly timer: Timer }
  | { readonly kind: "awaiting_hello"; readonly timer: Timer }
  | { readonly kind: "open" }
  | { readonly kind: "ended" };

const closeGraceMs = 1_000;
const tcpKeepAliveMs = 30_000;
const GOING_AWAY = 1001;
const NORMAL = 1000;
const NO_STATUS = 1005;
const ABNORMAL = 1006;

export class UpstreamConnection {
  readonly #socket: WebSocket;
  readonly #listener: UpstreamListener;
  readonly #clock: Clock;
  readonly #rate: TokenBucket;
  #state: State;
  #stalledSince: number | undefined;

  /** Connects at once; throws if the URL is invalid. */
  constructor(
    target: UpstreamTarget,
    hello: string,
    withinMs: number,
    clock: Clock,
    listener: UpstreamListener,
  ) {
    this.#clock = clock;
    this.#listener = listener;
    this.#rate = new TokenBucket(
      { burst: voiceLimits.frameBurst.max, everyMs: perSecond(voiceLimits.framesPerSecond.max) },
      clock.monotonic(),
    );
    this.#socket = new WebSocket(target.url, {
      headers: target.headers,
      perMessageDeflate: false,
      maxPayload: voiceLimits.messageBytes.max,
      // Invalid UTF-8 makes one bad message and must not end the conversation.
      skipUTF8Validation: true,
      followRedirects: false,
    });
    const timer = clock.after(withinMs, () => this.#timedOut());
    this.#state = { kind: "connecting", hello, timer };
    this.#listen();
  }

  sendText(text: string): void {
    if (this.#state.kind !== "open") return;
    this.#socket.send(text);
    if (this.#socket.bufferedAmount > 4 * voiceLimits.uplinkBytes.max) this.#stalled();
  }

  /** Drops audio if the server does not read, so that tools and texts do not wait behind it. */
  sendAudio(frame: Uint8Array): boolean {
    if (this.#state.kind !== "open") return false;
    if (this.#socket.bufferedAmount > voiceLimits.uplinkBytes.max) {
      this.#stalledSince ??= this.#clock.monotonic();
      if (this.#clock.monotonic() - this.#stalledSince >= voiceLimits.stalledMs.max) this.#stalled();
      return false;
    }
    this.#stalledSince = undefined;
    this.#socket.send(frame);
    return true;
  }

  /** Stops reading until `resume`. TCP back-pressure slows the server down, and nothing is lost. */
  pause(): void {
    if (this.#state.kind === "open") this.#socket.pause();
  }

  resume(): void {
    if (this.#state.kind === "open") this.#socket.resume();
  }

  /** Closes the connection. The listener gets nothing more. */
  leave(): void {
    if (this.#state.kind === "ended") return;
    this.#settle();
    this.#close();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on("upgrade", (response) => response.socket.setKeepAlive(true, tcpKeepAliveMs));
    socket.on("open", () => this.#opened());
    socket.on("message", (data: RawData, isBinary: boolean) => this.#received(data as Buffer, isBinary));
    socket.on("unexpected-response", (request, response) => {
      response.resume();
      request.destroy();
      const status = response.statusCode ?? 0;
      this.#end({ kind: "refused", detail: `it answered with status ${status}`, transient: status >= 500 });
    });
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", (code) => this.#socketClosed(code));
  }

  #opened(): void {
    if (this.#state.kind !== "connecting") return;
    const { hello, timer } = this.#state;
    this.#state = { kind: "awaiting_hello", timer };
    this.#socket.send(hello);
  }

  #received(data: Buffer, isBinary: boolean): void {
    if (this.#state.kind === "ended") return;
    if (!this.#rate.take(this.#clock.monotonic())) {
      this.#end({ kind: "flooded", detail: "it sends more audio than a board can play" });
      return;
    }
    if (isBinary) {
      if (this.#state.kind === "open") this.#listener.audio(data);
      else this.#listener.invalidFrame();
      return;
    }
    const text = data.toString();
    const message = parseJson(text);
    if (!isObject(message) || typeof message["type"] !== "string") {
      this.#listener.invalidFrame();
      return;
    }
    if (this.#state.kind === "open") {
      this.#listener.text(message, text);
      return;
    }
    if (message["type"] !== "hello" || this.#state.kind !== "awaiting_hello") {
      this.#listener.invalidFrame();
      return;
    }
    this.#state.timer.cancel();
    this.#state = { kind: "open" };
    this.#listener.hello(message, text);
  }

  #timedOut(): void {
    const detail =
      this.#state.kind === "connecting" ? "it could not be reached in time" : "it did not answer the hello";
    this.#end({ kind: "silent", detail });
  }

  #stalled(): void {
    this.#end({ kind: "stalled", detail: "it stopped reading from the connection" });
  }

  #failed(error: Error): void {
    const reached = this.#state.kind !== "connecting";
    this.#end({ kind: reached ? "broken" : "unreachable", detail: messageOf(error), transient: !reached });
  }

  #socketClosed(code: number): void {
    if (code === NORMAL || code === GOING_AWAY || code === NO_STATUS) {
      this.#end({ kind: "closed", detail: `it closed the connection (${code})` });
    } else {
      const detail = code === ABNORMAL ? "the connection was lost" : `it closed the connection (${code})`;
      this.#end({ kind: "broken", detail });
    }
  }

  #end(end: UpstreamEnd): void {
    if (this.#state.kind === "ended") return;
    this.#settle();
    this.#close();
    this.#listener.ended(end);
  }

  #settle(): void {
    if (this.#state.kind === "connecting" || this.#state.kind === "awaiting_hello")
      this.#state.timer.cancel();
    this.#state = { kind: "ended" };
  }

  /** Terminates the socket if the server does not answer the Close frame in time. */
  #close(): void {
    const socket = this.#socket;
    if (socket.readyState === WebSocket.CLOSED) return;
    if (socket.readyState !== WebSocket.OPEN) {
      socket.terminate();
      return;
    }
    // A paused socket would never read the server's Close frame.
    socket.resume();
    socket.close(NORMAL, "the conversation has ended");
    const timer = this.#clock.after(closeGraceMs, () => socket.terminate());
    socket.once("close", () => timer.cancel());
  }
}
