/**
 * One conversation: a board, the way of its audio, and the connection to its voice server [VOI-1…9]. Texts and audio
 * pass in order and unchanged but for the session's name; MCP does not pass at all, it is served here. However either
 * side fails or leaves, the other is let go in words it understands, once, and nothing is left open.
 */
import { decodeAudio, encodeMcp, isObject, type JsonObject, voiceLimits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { BoardHello, VoiceBoard } from "../device/device.ts";
import type { AudioWay } from "./audio-path.ts";
import { Meter } from "./meter.ts";
import { SessionIds } from "./session-ids.ts";
import type { UpstreamEnd, UpstreamTarget } from "./upstream.ts";
import { UpstreamLine } from "./upstream-line.ts";
import { type BoardTools, UpstreamTools } from "./upstream-tools.ts";

type State =
  /** The voice server is being dialled, or has not answered the hello yet. What the board says meanwhile is held. */
  | { readonly kind: "opening"; readonly line: UpstreamLine; readonly held: (string | Uint8Array)[] }
  | {
      readonly kind: "open";
      readonly line: UpstreamLine;
      readonly ids: SessionIds;
      readonly tools: UpstreamTools;
    }
  /** The person has been told; the board hangs on for a moment, so that the words can be read. */
  | { readonly kind: "resting"; readonly timer: Timer }
  /** The server is gone and the board is at rest, connected and of use: it takes up the talk when it likes. */
  | { readonly kind: "parked" }
  | { readonly kind: "ended" };

export interface ConversationNeeds {
  readonly clock: Clock;
  readonly board: VoiceBoard;
  readonly hello: BoardHello;
  readonly audio: AudioWay;
  /** The host, for those who look on. */
  readonly upstreamName: string;
  /** Where to go and as whom; may have to be asked for. */
  readonly target: (renewed: boolean) => Promise<UpstreamTarget>;
  /** Whether asking again may give a better answer than the one that was refused. */
  readonly renewable: boolean;
  readonly random: () => number;
  readonly tools: BoardTools;
  readonly odd: (device: string) => void;
  /** The server is gone, and the board waits for its person to speak again. */
  readonly onParked: (conversation: Conversation, end: UpstreamEnd) => void;
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
  #state: State;
  #welcomed = false;
  #phase: "idle" | "listening" | "speaking" = "idle";
  #pressToTalk = false;
  #calls = 0;
  #unsent = 0;
  #activeAt: number;
  #held = false;
  readonly #oneSent = () => this.#sent();

  constructor(needs: ConversationNeeds) {
    this.#needs = needs;
    this.startedAt = needs.clock.now();
    this.#activeAt = needs.clock.monotonic();
    this.#state = this.#open();
  }

  get board(): VoiceBoard {
    return this.#needs.board;
  }

  get upstreamName(): string {
    return this.#needs.upstreamName;
  }

  get phase(): "opening" | "idle" | "listening" | "speaking" | "ending" {
    switch (this.#state.kind) {
      case "opening":
        return "opening";
      case "open":
        return this.#phase;
      case "parked":
        return "idle";
      case "resting":
      case "ended":
        return "ending";
      default:
        return this.#state satisfies never;
    }
  }

  /** Nothing that is said from now on is part of it. */
  get over(): boolean {
    return this.#state.kind === "ended";
  }

  /** How many calls the voice server has made. */
  get calls(): number {
    return this.#calls + (this.#state.kind === "open" ? this.#state.tools.calls : 0);
  }

  /** A text of the board that is for its voice server. */
  fromBoard(text: string, message: JsonObject): void {
    this.#activeAt = this.#needs.clock.monotonic();
    const starts = message["type"] === "listen" && message["state"] === "start";
    if (starts) {
      this.#phase = "listening";
      this.#pressToTalk = message["mode"] === "manual";
      if (this.#state.kind === "parked") this.#state = this.#open();
    }
    if (this.#state.kind === "open") this.#state.line.sendText(this.#state.ids.toUpstream(text));
    else this.#hold(text);
  }

  audioFromBoard(frame: Uint8Array): void {
    if (!this.#fits(frame)) {
      this.#needs.odd(this.board.deviceId);
      return;
    }
    this.#activeAt = this.#needs.clock.monotonic();
    this.up.count(frame.byteLength, this.#activeAt);
    const passed = this.#state.kind === "open" ? this.#state.line.sendAudio(frame) : this.#hold(frame);
    if (!passed) this.up.lost += 1;
  }

  #hold(item: string | Uint8Array): boolean {
    if (this.#state.kind !== "opening" || this.#state.held.length >= voiceLimits.heldFrames.max) return false;
    this.#state.held.push(item);
    return true;
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

  #open(): State {
    const { clock, random, target, renewable } = this.#needs;
    const hello = this.#helloForUpstream();
    const line: UpstreamLine = new UpstreamLine(
      { clock, random, target, renewable, hello, withinMs: voiceLimits.helloMs.max },
      {
        hello: (message, text) => this.#answered(line, message, text),
        text: (message, text) => this.#fromUpstream(message, text),
        audio: (frame) => this.#audioFromUpstream(frame),
        odd: () => this.#needs.odd(this.board.deviceId),
        ended: (end) => this.#upstreamEnded(end),
      },
    );
    return { kind: "opening", line, held: [] };
  }

  /** Where the board's own transport is another one, the voice server sees a board over WebSocket all the same. */
  #helloForUpstream(): string {
    const { hello, audio } = this.#needs;
    if (hello.message.transport === "websocket") return hello.text;
    return JSON.stringify({ ...hello.message, version: audio.framing, transport: "websocket" });
  }

  #answered(line: UpstreamLine, message: JsonObject, text: string): void {
    const held = this.#state.kind === "opening" ? this.#state.held : [];
    const theirs = typeof message["session_id"] === "string" ? message["session_id"] : "";
    const ids = new SessionIds(this.board.sessionId, theirs);
    const { deviceId } = this.board;
    const tools = new UpstreamTools(this.#needs.tools, deviceId, (payload) =>
      line.sendText(encodeMcp(theirs, payload)),
    );
    this.#state = { kind: "open", line, ids, tools };
    if (!this.#welcomed) this.#welcome(this.#answerFor(ids, message, text));
    for (const item of held) {
      if (typeof item === "string") line.sendText(ids.toUpstream(item));
      else if (!line.sendAudio(item)) this.up.lost += 1;
    }
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
    if (this.board.sendText(answer)) this.board.helloAnswered();
  }

  #fromUpstream(message: JsonObject, text: string): void {
    if (this.#state.kind !== "open") return;
    this.#activeAt = this.#needs.clock.monotonic();
    const { ids, tools } = this.#state;
    switch (message["type"]) {
      case "hello":
        this.#needs.odd(this.board.deviceId);
        return;
      case "mcp":
        if (!tools.received(message["payload"])) this.#needs.odd(this.board.deviceId);
        return;
      case "tts":
        if (message["state"] === "start") this.#phase = "speaking";
        if (message["state"] === "stop") this.#phase = "idle";
        break;
      default:
        break;
    }
    this.board.sendText(ids.toBoard(text, message));
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
    } else if (this.#unsent >= voiceLimits.downlinkFrames.max) this.#holdUp(true);
  }

  #fits(frame: Uint8Array): boolean {
    return (
      frame.byteLength <= voiceLimits.audioBytes.max &&
      decodeAudio(this.#needs.audio.framing, frame).outcome === "ok"
    );
  }

  #sent(): void {
    this.#unsent -= 1;
    if (this.#held && this.#unsent <= voiceLimits.downlinkFrames.max / 4) this.#holdUp(false);
  }

  #holdUp(held: boolean): void {
    this.#held = held;
    if (this.#state.kind !== "open") return;
    if (held) this.#state.line.pause();
    else this.#state.line.resume();
  }

  /** [VOI-8] A server that hangs up between sentences has ended the talk; anything else has failed in it. */
  #upstreamEnded(how: UpstreamEnd): void {
    const state = this.#state;
    if (state.kind !== "opening" && state.kind !== "open") return;
    // Some servers let everybody connect and hang up on those they do not know.
    const end: UpstreamEnd =
      state.kind === "opening" && how.kind === "closed" ? { ...how, kind: "refused" } : how;
    if (state.kind === "open") this.#dismiss(state.tools);
    if (!this.#welcomed) {
      const fields = this.#needs.audio.helloFields;
      const { sessionId } = this.board;
      this.#welcome(
        JSON.stringify({ type: "hello", session_id: sessionId, audio_params: audioParams, ...fields }),
      );
    }
    const inOrder = end.kind === "closed" && this.#phase !== "speaking";
    if (!inOrder) this.#tell(end);
    // The board may have left in the middle of it, and has taken the conversation with it.
    if (this.over) return;
    // A board whose button is pressed to talk goes to rest by itself; its connection need not end for that.
    if (this.#pressToTalk && this.board.audioChannel !== undefined) this.#park(end);
    else this.#rest(end, inOrder ? 0 : readingMs);
  }

  #park(end: UpstreamEnd): void {
    this.#phase = "idle";
    this.#state = { kind: "parked" };
    this.#needs.onParked(this, end);
  }

  #dismiss(tools: UpstreamTools): void {
    this.#calls += tools.calls;
    tools.stop();
  }

  #tell(end: UpstreamEnd): void {
    const { sessionId } = this.board;
    if (this.#phase === "speaking") {
      this.board.sendText(JSON.stringify({ type: "tts", state: "stop", session_id: sessionId }));
    }
    this.board.sendText(alertText(sessionId, end));
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
    switch (state.kind) {
      case "resting":
        state.timer.cancel();
        break;
      case "open":
        this.#dismiss(state.tools);
        state.line.leave();
        break;
      case "opening":
        state.line.leave();
        break;
      case "parked":
        break;
      default:
        state satisfies never;
    }
    this.#needs.audio.close();
    this.#needs.onEnd(this, end);
  }
}

/** What a person in front of the board reads when the voice server fails [VOI-9]. Short: some screens are tiny. */
const messages: Readonly<Record<UpstreamEnd["kind"], string>> = {
  unreachable: "The voice server cannot be reached. Try again later.",
  refused: "The voice server does not let this device in.",
  inactive: "This device has to be activated at its voice server.",
  silent: "The voice server does not answer. Try again later.",
  closed: "The voice server ended the conversation.",
  broken: "The connection to the voice server broke off. Try again.",
  flooded: "The voice server sends too much. The conversation was ended.",
  stalled: "The voice server is too slow. Try again later.",
  left: "The conversation was ended.",
};

function alertText(sessionId: string, { kind, code }: UpstreamEnd): string {
  return JSON.stringify({
    type: "alert",
    session_id: sessionId,
    status: "No voice",
    message: code === undefined ? messages[kind] : `${messages[kind]} Code: ${code}`,
    emotion: "sad",
  });
}
