/**
 * One connection to a voice server, in the name of one board [VOI-1, VOI-2]: dialled, greeted, read and written within
 * bounds. Whatever the server sends or does, the listener hears of it in words of its own, and of the end exactly once.
 */
import { isObject, type JsonObject, parseJson, voiceLimits } from "@tendon/protocol";
import { type RawData, WebSocket } from "ws";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";

/** How the way to a voice server ended, or why there was none. */
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
  /** Another attempt a moment later may find it. */
  readonly passing?: boolean;
  /** What the person has to enter at the voice server first. */
  readonly code?: string | undefined;
}

export interface UpstreamListener {
  /** The answer to our hello; everything else comes after it. */
  hello(message: JsonObject, text: string): void;
  text(message: JsonObject, text: string): void;
  audio(frame: Buffer): void;
  /** Something that is no message: counted, and of no other effect. */
  odd(): void;
  ended(end: UpstreamEnd): void;
}

export interface UpstreamTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

type State =
  | { readonly kind: "dialling"; readonly hello: string; readonly timer: Timer }
  | { readonly kind: "greeting"; readonly timer: Timer }
  | { readonly kind: "open" }
  | { readonly kind: "ended" };

const closeGraceMs = 1_000;
const tcpKeepAliveMs = 30_000;
const GOING_AWAY = 1001;
const NORMAL = 1000;
const NO_STATUS = 1005;
const BROKE_OFF = 1006;

export class Upstream {
  readonly #socket: WebSocket;
  readonly #listener: UpstreamListener;
  readonly #clock: Clock;
  readonly #rate: TokenBucket;
  #state: State;
  #stalledSince: number | undefined;

  /** Dials at once; throws where the address is none. */
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
      // A byte that is not UTF-8 makes one bad message, not the end of a conversation.
      skipUTF8Validation: true,
      followRedirects: false,
    });
    const timer = clock.after(withinMs, () => this.#overdue());
    this.#state = { kind: "dialling", hello, timer };
    this.#listen();
  }

  sendText(text: string): void {
    if (this.#state.kind !== "open") return;
    this.#socket.send(text);
    if (this.#socket.bufferedAmount > 4 * voiceLimits.uplinkBytes.max) this.#stalled();
  }

  /** Live audio is dropped rather than kept for a server that does not read; tools and texts never wait behind it. */
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

  /** Reads no further until `resume`: the server is held up by TCP, and nothing is lost. */
  pause(): void {
    if (this.#state.kind === "open") this.#socket.pause();
  }

  resume(): void {
    if (this.#state.kind === "open") this.#socket.resume();
  }

  /** Ends it from our side; the listener hears nothing more. */
  leave(): void {
    if (this.#state.kind === "ended") return;
    this.#settle();
    this.#hangUp();
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
      this.#end({ kind: "refused", detail: `it answered ${status}`, passing: status >= 500 });
    });
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", (code) => this.#closed(code));
  }

  #opened(): void {
    if (this.#state.kind !== "dialling") return;
    const { hello, timer } = this.#state;
    this.#state = { kind: "greeting", timer };
    this.#socket.send(hello);
  }

  #received(data: Buffer, isBinary: boolean): void {
    if (this.#state.kind === "ended") return;
    if (!this.#rate.take(this.#clock.monotonic())) {
      this.#end({ kind: "flooded", detail: "it sends more than a board could ever play" });
      return;
    }
    if (isBinary) {
      if (this.#state.kind === "open") this.#listener.audio(data);
      else this.#listener.odd();
      return;
    }
    const text = data.toString();
    const message = parseJson(text);
    if (!isObject(message) || typeof message["type"] !== "string") {
      this.#listener.odd();
      return;
    }
    if (this.#state.kind === "open") {
      this.#listener.text(message, text);
      return;
    }
    if (message["type"] !== "hello" || this.#state.kind !== "greeting") {
      this.#listener.odd();
      return;
    }
    this.#state.timer.cancel();
    this.#state = { kind: "open" };
    this.#listener.hello(message, text);
  }

  #overdue(): void {
    const detail =
      this.#state.kind === "dialling" ? "it cannot be reached in time" : "it does not answer the hello";
    this.#end({ kind: "silent", detail });
  }

  #stalled(): void {
    this.#end({ kind: "stalled", detail: "it does not read what it is sent" });
  }

  #failed(error: Error): void {
    const reached = this.#state.kind !== "dialling";
    this.#end({ kind: reached ? "broken" : "unreachable", detail: messageOf(error), passing: !reached });
  }

  #closed(code: number): void {
    if (code === NORMAL || code === GOING_AWAY || code === NO_STATUS) {
      this.#end({ kind: "closed", detail: `it closed the connection (${code})` });
    } else {
      const detail = code === BROKE_OFF ? "the connection broke off" : `it closed the connection (${code})`;
      this.#end({ kind: "broken", detail });
    }
  }

  #end(end: UpstreamEnd): void {
    if (this.#state.kind === "ended") return;
    this.#settle();
    this.#hangUp();
    this.#listener.ended(end);
  }

  #settle(): void {
    if (this.#state.kind === "dialling" || this.#state.kind === "greeting") this.#state.timer.cancel();
    this.#state = { kind: "ended" };
  }

  /** A server that does not answer our Close frame is cut off a moment later: no socket is left behind. */
  #hangUp(): void {
    const socket = this.#socket;
    if (socket.readyState === WebSocket.CLOSED) return;
    if (socket.readyState !== WebSocket.OPEN) {
      socket.terminate();
      return;
    }
    // A paused socket would never see the other side's farewell.
    socket.resume();
    socket.close(NORMAL, "the conversation is over");
    const timer = this.#clock.after(closeGraceMs, () => socket.terminate());
    socket.once("close", () => timer.cancel());
  }
}
