/**
 * One conversation: a board, the way of its audio, and the connection to its voice server [VOI-1…9]. Texts and audio
 * pass in order and unchanged but for the session's name; MCP does not pass at all, it is served here. However either
 * side fails or leaves, the other is let go in words it understands, once, and nothing is left open.
 */
import { decodeAudio, encodeMcp, isObject, type JsonObject, voiceLimits } from "@tendon/protocol";
import type { Clock, Timer } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { Meter } from "./meter.ts";
import { SessionIds } from "./session-ids.ts";
import { Upstream, type UpstreamEnd, type UpstreamTarget } from "./upstream.ts";
import { type BoardTools, UpstreamTools } from "./upstream-tools.ts";
import type { AudioWay, BoardHello, VoiceBoard } from "./voice-board.ts";
import { alertText } from "./words.ts";

type State =
  /** The voice server is being dialled, or has not answered the hello yet. */
  | { readonly kind: "opening"; readonly upstream: Upstream | undefined }
  | { readonly kind: "open"; readonly upstream: Upstream; readonly ids: SessionIds }
  /** The person has been told; the board hangs on for a moment, so that the words can be read. */
  | { readonly kind: "resting"; readonly timer: Timer }
  | { readonly kind: "ended" };

export interface ConversationNeeds {
  readonly clock: Clock;
  readonly board: VoiceBoard;
  readonly hello: BoardHello;
  readonly audio: AudioWay;
  /** The host, for those who look on. */
  readonly upstreamName: string;
  /** Where to go and as whom; may have to be asked for. */
  readonly target: () => Promise<UpstreamTarget> | UpstreamTarget;
  readonly random: () => number;
  readonly tools: BoardTools;
  readonly odd: (device: string) => void;
  readonly onEnd: (conversation: Conversation, end: UpstreamEnd) => void;
}

/** Long enough to read a short sentence. */
const readingMs = 3_000;
const busyPauseMs = 500;
const longestRestMs = 30_000;
/** What the firmware falls back to as well. */
const audioParams = { format: "opus", sample_rate: 24_000, channels: 1, frame_duration: 60 };

export class Conversation {
  readonly up = new Meter();
  readonly down = new Meter();
  readonly startedAt: number;
  readonly #needs: ConversationNeeds;
  #state: State = { kind: "opening", upstream: undefined };
  #welcomed = false;
  #phase: "idle" | "listening" | "speaking" = "idle";
  #unsent = 0;
  #activeAt: number;
  #held = false;
  readonly #oneSent = () => this.#sent();
  readonly #tools: UpstreamTools;

  constructor(needs: ConversationNeeds) {
    this.#needs = needs;
    this.startedAt = needs.clock.now();
    this.#activeAt = needs.clock.monotonic();
    this.#tools = new UpstreamTools(needs.tools, needs.board.deviceId, (payload) => this.#sendRpc(payload));
    void this.#open(needs.clock.monotonic() + voiceLimits.helloMs.max);
  }

  get board(): VoiceBoard {
    return this.#needs.board;
  }

  get upstreamName(): string {
    return this.#needs.upstreamName;
  }

  get phase(): string {
    switch (this.#state.kind) {
      case "opening":
        return "opening";
      case "open":
        return this.#phase;
      case "resting":
      case "ended":
        return "ending";
      default:
        return this.#state satisfies never;
    }
  }

  /** How many calls the voice server has made. */
  get calls(): number {
    return this.#tools.calls;
  }

  /** A text of the board that is for its voice server. */
  fromBoard(text: string, message: JsonObject): void {
    this.#activeAt = this.#needs.clock.monotonic();
    if (message["type"] === "listen") this.#phase = message["state"] === "start" ? "listening" : this.#phase;
    if (this.#state.kind === "open") this.#state.upstream.sendText(this.#state.ids.toUpstream(text));
  }

  audioFromBoard(frame: Uint8Array): void {
    if (this.#state.kind !== "open") {
      this.up.lost += 1;
      return;
    }
    if (!this.#fits(frame)) {
      this.#needs.odd(this.board.deviceId);
      return;
    }
    this.#activeAt = this.#needs.clock.monotonic();
    this.up.count(frame.byteLength, this.#activeAt);
    this.#state.upstream.sendAudio(frame);
  }

  /** The board is gone, began anew, or said goodbye: the voice server is let go, and nobody is told anything. */
  leave(reason: string): void {
    this.#finish({ kind: "left", detail: reason });
  }

  /** How long neither side has said anything. */
  get silentForMs(): number {
    return this.#needs.clock.monotonic() - this.#activeAt;
  }

  /** Nobody has said anything for long: the board has given the session up, or is told to. */
  lapse(): void {
    this.#rest({ kind: "closed", detail: "nobody has said anything for long" }, 0);
  }

  async #open(until: number): Promise<void> {
    let target: UpstreamTarget;
    try {
      target = await this.#needs.target();
    } catch (error) {
      this.#upstreamEnded({ kind: "refused", detail: messageOf(error) });
      return;
    }
    if (this.#state.kind !== "opening") return;
    this.#dial(target, until);
  }

  #dial(target: UpstreamTarget, until: number): void {
    const { clock } = this.#needs;
    const withinMs = Math.max(1, until - clock.monotonic());
    try {
      const upstream: Upstream = new Upstream(target, this.#helloForUpstream(), withinMs, clock, {
        hello: (message, text) => this.#answered(upstream, message, text),
        text: (message, text) => this.#fromUpstream(message, text),
        audio: (frame) => this.#audioFromUpstream(frame),
        odd: () => this.#needs.odd(this.board.deviceId),
        ended: (end) => this.#upstreamEnded(end),
      });
      this.#state = { kind: "opening", upstream };
    } catch (error) {
      this.#upstreamEnded({ kind: "unreachable", detail: messageOf(error) });
    }
  }

  /** Where the board's own transport is another one, the voice server sees a board over WebSocket all the same. */
  #helloForUpstream(): string {
    const { hello, audio } = this.#needs;
    if (hello.message.transport === "websocket") return hello.text;
    return JSON.stringify({ ...hello.message, version: audio.framing, transport: "websocket" });
  }

  #answered(upstream: Upstream, message: JsonObject, text: string): void {
    const theirs = typeof message["session_id"] === "string" ? message["session_id"] : "";
    const ids = new SessionIds(this.board.sessionId, theirs);
    this.#state = { kind: "open", upstream, ids };
    this.#welcome(this.#answerFor(ids, message, text));
  }

  /** [VOI-2] As it came, unless something the firmware cannot do without is missing. */
  #answerFor(ids: SessionIds, message: JsonObject, text: string): string {
    const { helloFields } = this.#needs.audio;
    const whole = message["transport"] === helloFields["transport"] && ids.theirs !== "";
    if (whole && Object.keys(helloFields).length === 1) return ids.toBoard(text, message);
    const params = isObject(message["audio_params"]) ? {} : { audio_params: audioParams };
    return JSON.stringify({ ...message, ...params, session_id: ids.ours, ...helloFields });
  }

  #welcome(answer: string): void {
    this.#welcomed = true;
    if (this.board.say(answer)) this.board.welcomed();
  }

  #fromUpstream(message: JsonObject, text: string): void {
    if (this.#state.kind !== "open") return;
    this.#activeAt = this.#needs.clock.monotonic();
    const { ids } = this.#state;
    switch (message["type"]) {
      case "hello":
        this.#needs.odd(this.board.deviceId);
        return;
      case "mcp":
        if (!this.#tools.received(message["payload"])) this.#needs.odd(this.board.deviceId);
        return;
      case "tts":
        if (message["state"] === "start") this.#phase = "speaking";
        if (message["state"] === "stop") this.#phase = "idle";
        break;
      default:
        break;
    }
    this.board.say(ids.toBoard(text, message));
  }

  #sendRpc(payload: JsonObject): void {
    if (this.#state.kind !== "open") return;
    const { upstream, ids } = this.#state;
    upstream.sendText(encodeMcp(ids.theirs, payload));
  }

  #audioFromUpstream(frame: Buffer): void {
    if (!this.#fits(frame)) {
      // The firmware believes the length that a frame states and would read past its end.
      this.#needs.odd(this.board.deviceId);
      return;
    }
    this.#activeAt = this.#needs.clock.monotonic();
    this.down.count(frame.byteLength, this.#activeAt);
    this.#unsent += 1;
    if (!this.#needs.audio.toBoard(frame, this.#oneSent)) {
      this.#unsent -= 1;
      this.down.lost += 1;
    } else if (this.#unsent >= voiceLimits.downlinkFrames.max) this.#hold(true);
  }

  #fits(frame: Uint8Array): boolean {
    return (
      frame.byteLength <= voiceLimits.audioBytes.max &&
      decodeAudio(this.#needs.audio.framing, frame).outcome === "ok"
    );
  }

  #sent(): void {
    this.#unsent -= 1;
    if (this.#held && this.#unsent <= voiceLimits.downlinkFrames.max / 4) this.#hold(false);
  }

  #hold(held: boolean): void {
    this.#held = held;
    if (this.#state.kind !== "open") return;
    if (held) this.#state.upstream.pause();
    else this.#state.upstream.resume();
  }

  /** [VOI-8] A server that hangs up between sentences has ended the talk; anything else has failed in it. */
  #upstreamEnded(end: UpstreamEnd): void {
    if (this.#state.kind === "ended" || this.#state.kind === "resting") return;
    this.#tools.stop();
    if (!this.#welcomed) {
      const fields = this.#needs.audio.helloFields;
      const { sessionId } = this.board;
      this.#welcome(
        JSON.stringify({ type: "hello", session_id: sessionId, audio_params: audioParams, ...fields }),
      );
    }
    const inOrder = end.kind === "closed" && this.#phase !== "speaking";
    if (!inOrder) this.#tell(end);
    this.#rest(end, inOrder ? 0 : readingMs);
  }

  #tell(end: UpstreamEnd): void {
    const { sessionId } = this.board;
    if (this.#phase === "speaking") {
      this.board.say(JSON.stringify({ type: "tts", state: "stop", session_id: sessionId }));
    }
    this.board.say(alertText(sessionId, end.kind));
  }

  /** Tools go on working meanwhile; a call that runs is not cut off. */
  #rest(end: UpstreamEnd, afterMs: number): void {
    const { clock } = this.#needs;
    const latest = clock.monotonic() + longestRestMs;
    const later = (ms: number) => {
      this.#state = { kind: "resting", timer: clock.after(ms, hangUp) };
    };
    const hangUp = () => {
      if (this.#state.kind === "ended") return;
      if (this.board.busy && clock.monotonic() < latest) {
        later(busyPauseMs);
        return;
      }
      this.#finish(end);
      this.board.hangUp(`the voice server's part is over: ${end.detail}`);
    };
    if (afterMs === 0) hangUp();
    else later(afterMs);
  }

  #finish(end: UpstreamEnd): void {
    const state = this.#state;
    if (state.kind === "ended") return;
    this.#state = { kind: "ended" };
    if (state.kind === "resting") state.timer.cancel();
    else state.upstream?.leave();
    this.#tools.stop();
    this.#needs.audio.close();
    this.#needs.onEnd(this, end);
  }
}
