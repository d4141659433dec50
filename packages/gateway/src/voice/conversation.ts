/**
 * One conversation: a board, its audio path, and the connection to its voice server [VOI-1…9]. Texts and audio pass
 * in order; only the session id is replaced. MCP messages do not pass: the gateway answers them. When one side fails
 * or disconnects, the conversation ends the other side once, in that side's protocol, and closes everything.
 */
import { decodeAudio, encodeMcp, isObject, type JsonObject, voiceLimits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { BoardHello, VoiceBoard } from "../device/device.ts";
import type { AudioPath } from "./audio-path.ts";
import { Meter } from "./meter.ts";
import { SessionIds } from "./session-ids.ts";
import type { UpstreamEnd, UpstreamTarget } from "./upstream-connection.ts";
import { UpstreamLink } from "./upstream-link.ts";
import { type BoardTools, UpstreamTools } from "./upstream-tools.ts";

type State =
  /** The voice server is being connected, or has not answered the hello yet. Frames of the board are buffered. */
  | { readonly kind: "opening"; readonly link: UpstreamLink; readonly buffered: (string | Uint8Array)[] }
  | {
      readonly kind: "open";
      readonly link: UpstreamLink;
      readonly ids: SessionIds;
      readonly tools: UpstreamTools;
    }
  /** The board shows an alert. It stays connected for a moment, so that its user can read it. */
  | { readonly kind: "ending"; readonly timer: Timer }
  /** The server has disconnected and the board is idle but connected. Its user can continue the conversation. */
  | { readonly kind: "parked" }
  | { readonly kind: "ended" };

export interface ConversationDependencies {
  readonly clock: Clock;
  readonly board: VoiceBoard;
  readonly hello: BoardHello;
  readonly audio: AudioPath;
  /** The host, for logs and the console. */
  readonly upstreamName: string;
  /** The address and the credentials. They may have to be requested first. */
  readonly target: (renewed: boolean) => Promise<UpstreamTarget>;
  /** Whether new credentials can be requested after a rejection. */
  readonly renewable: boolean;
  readonly random: () => number;
  readonly tools: BoardTools;
  readonly invalidFrame: (device: string) => void;
  /** The server has disconnected, and the board stays connected and idle. */
  readonly onParked: (conversation: Conversation, end: UpstreamEnd) => void;
  readonly onEnd: (conversation: Conversation, end: UpstreamEnd) => void;
}

/** Time to read the alert. */
const alertMs = 3_000;
const busyRetryMs = 500;
const maxEndingMs = 30_000;
/** The firmware's own defaults. */
const audioParams = { format: "opus", sample_rate: 24_000, channels: 1, frame_duration: 60 };

export class Conversation {
  readonly up = new Meter();
  readonly down = new Meter();
  readonly startedAt: number;
  readonly #dependencies: ConversationDependencies;
  #state: State;
  #helloAnswered = false;
  #phase: "idle" | "listening" | "speaking" = "idle";
  #pressToTalk = false;
  #calls = 0;
  #unsent = 0;
  #activeAt: number;
  #paused = false;
  readonly #oneSent = () => this.#sent();

  constructor(dependencies: ConversationDependencies) {
    this.#dependencies = dependencies;
    this.startedAt = dependencies.clock.now();
    this.#activeAt = dependencies.clock.monotonic();
    this.#state = this.#open();
  }

  get board(): VoiceBoard {
    return this.#dependencies.board;
  }

  get upstreamName(): string {
    return this.#dependencies.upstreamName;
  }

  /** The session id at the voice server, while it is connected. */
  get upstreamSessionId(): string | undefined {
    return (this.#state.kind === "open" ? this.#state.ids.theirs : "") || undefined;
  }

  get phase(): "opening" | "idle" | "listening" | "speaking" | "ending" {
    switch (this.#state.kind) {
      case "opening":
        return "opening";
      case "open":
        return this.#phase;
      case "parked":
        return "idle";
      case "ending":
      case "ended":
        return "ending";
      default:
        return this.#state satisfies never;
    }
  }

  /** The conversation has ended and ignores further messages. */
  get over(): boolean {
    return this.#state.kind === "ended";
  }

  /** The number of calls by the voice server. */
  get calls(): number {
    return this.#calls + (this.#state.kind === "open" ? this.#state.tools.calls : 0);
  }

  /** A text from the board to its voice server. */
  fromBoard(text: string, message: JsonObject): void {
    this.#activeAt = this.#dependencies.clock.monotonic();
    const starts = message["type"] === "listen" && message["state"] === "start";
    if (starts) {
      this.#phase = "listening";
      this.#pressToTalk = message["mode"] === "manual";
      if (this.#state.kind === "parked") this.#state = this.#open();
    }
    if (this.#state.kind === "open") this.#state.link.sendText(this.#state.ids.toUpstream(text));
    else this.#buffer(text);
  }

  audioFromBoard(frame: Uint8Array): void {
    if (!this.#fits(frame)) {
      this.#dependencies.invalidFrame(this.board.deviceId);
      return;
    }
    this.#activeAt = this.#dependencies.clock.monotonic();
    this.up.count(frame.byteLength, this.#activeAt);
    const passed = this.#state.kind === "open" ? this.#state.link.sendAudio(frame) : this.#buffer(frame);
    if (!passed) this.up.lost += 1;
  }

  #buffer(item: string | Uint8Array): boolean {
    if (this.#state.kind !== "opening" || this.#state.buffered.length >= voiceLimits.heldFrames.max)
      return false;
    this.#state.buffered.push(item);
    return true;
  }

  /** The board disconnected, sent a new hello or a goodbye. Ends the conversation without an alert. */
  leave(reason: string): void {
    this.#finish({ kind: "left", detail: reason });
  }

  /** The time since the last message or audio of either side. */
  get silentForMs(): number {
    return this.#dependencies.clock.monotonic() - this.#activeAt;
  }

  /** Ends a conversation after a long silence. The board has already closed the session, or closes it now. */
  endSilent(): void {
    this.#endAfter({ kind: "closed", detail: "neither side sent anything for too long" }, 0);
  }

  #open(): State {
    const { clock, random, target, renewable } = this.#dependencies;
    const hello = this.#helloForUpstream();
    const link: UpstreamLink = new UpstreamLink(
      { clock, random, target, renewable, hello, withinMs: voiceLimits.helloMs.max },
      {
        hello: (message, text) => this.#answered(link, message, text),
        text: (message, text) => this.#fromUpstream(message, text),
        audio: (frame) => this.#audioFromUpstream(frame),
        invalidFrame: () => this.#dependencies.invalidFrame(this.board.deviceId),
        ended: (end) => this.#upstreamEnded(end),
      },
    );
    return { kind: "opening", link, buffered: [] };
  }

  /** For a board on another transport, the voice server still gets the hello of a board over WebSocket. */
  #helloForUpstream(): string {
    const { hello, audio } = this.#dependencies;
    if (hello.message.transport === "websocket") return hello.text;
    return JSON.stringify({ ...hello.message, version: audio.framing, transport: "websocket" });
  }

  #answered(link: UpstreamLink, message: JsonObject, text: string): void {
    const buffered = this.#state.kind === "opening" ? this.#state.buffered : [];
    const theirs = typeof message["session_id"] === "string" ? message["session_id"] : "";
    const ids = new SessionIds(this.board.sessionId, theirs);
    const { deviceId } = this.board;
    const tools = new UpstreamTools(this.#dependencies.tools, deviceId, (payload) =>
      link.sendText(encodeMcp(theirs, payload)),
    );
    this.#state = { kind: "open", link, ids, tools };
    this.board.upstreamAnswered(theirs);
    if (!this.#helloAnswered) this.#answerHello(this.#helloReply(ids, message, text));
    for (const item of buffered) {
      if (typeof item === "string") link.sendText(ids.toUpstream(item));
      else if (!link.sendAudio(item)) this.up.lost += 1;
    }
  }

  /** [VOI-2] The server's hello unchanged, unless a field that the firmware needs is missing. */
  #helloReply(ids: SessionIds, message: JsonObject, text: string): string {
    const { helloFields } = this.#dependencies.audio;
    const complete = message["transport"] === helloFields["transport"] && ids.theirs !== "";
    if (complete && Object.keys(helloFields).length === 1) return ids.toBoard(text, message);
    const params = isObject(message["audio_params"]) ? {} : { audio_params: audioParams };
    return JSON.stringify({ ...message, ...params, session_id: ids.ours, ...helloFields });
  }

  #answerHello(answer: string): void {
    this.#helloAnswered = true;
    if (this.board.sendText(answer)) this.board.helloAnswered();
  }

  #fromUpstream(message: JsonObject, text: string): void {
    if (this.#state.kind !== "open") return;
    this.#activeAt = this.#dependencies.clock.monotonic();
    const { ids, tools } = this.#state;
    switch (message["type"]) {
      case "hello":
        this.#dependencies.invalidFrame(this.board.deviceId);
        return;
      case "mcp":
        if (!tools.received(message["payload"])) this.#dependencies.invalidFrame(this.board.deviceId);
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
      // The firmware trusts the length in a frame and would read past its end.
      this.#dependencies.invalidFrame(this.board.deviceId);
      return;
    }
    this.#activeAt = this.#dependencies.clock.monotonic();
    this.down.count(frame.byteLength, this.#activeAt);
    this.#unsent += 1;
    if (!this.#dependencies.audio.toBoard(frame, this.#oneSent)) {
      this.#unsent -= 1;
      this.down.lost += 1;
    } else if (this.#unsent >= voiceLimits.downlinkFrames.max) this.#setPaused(true);
  }

  #fits(frame: Uint8Array): boolean {
    return (
      frame.byteLength <= voiceLimits.audioBytes.max &&
      decodeAudio(this.#dependencies.audio.framing, frame).outcome === "ok"
    );
  }

  #sent(): void {
    this.#unsent -= 1;
    if (this.#paused && this.#unsent <= voiceLimits.downlinkFrames.max / 4) this.#setPaused(false);
  }

  #setPaused(paused: boolean): void {
    this.#paused = paused;
    if (this.#state.kind !== "open") return;
    if (paused) this.#state.link.pause();
    else this.#state.link.resume();
  }

  /** [VOI-8] A server that closes between sentences has ended the conversation. Any other end is a failure. */
  #upstreamEnded(how: UpstreamEnd): void {
    const state = this.#state;
    if (state.kind !== "opening" && state.kind !== "open") return;
    // Some servers accept every connection and then close those of unknown devices.
    const end: UpstreamEnd =
      state.kind === "opening" && how.kind === "closed" ? { ...how, kind: "refused" } : how;
    if (state.kind === "open") this.#stopTools(state.tools);
    if (!this.#helloAnswered) {
      const fields = this.#dependencies.audio.helloFields;
      const { sessionId } = this.board;
      this.#answerHello(
        JSON.stringify({ type: "hello", session_id: sessionId, audio_params: audioParams, ...fields }),
      );
    }
    const regular = end.kind === "closed" && this.#phase !== "speaking";
    if (!regular) this.#alertBoard(end);
    // The board may have disconnected meanwhile, which ended the conversation.
    if (this.over) return;
    // A push-to-talk board stops listening automatically, so its connection can stay open.
    if (this.#pressToTalk && this.board.audioChannel !== undefined) this.#park(end);
    else this.#endAfter(end, regular ? 0 : alertMs);
  }

  #park(end: UpstreamEnd): void {
    this.#phase = "idle";
    this.#state = { kind: "parked" };
    this.#dependencies.onParked(this, end);
  }

  #stopTools(tools: UpstreamTools): void {
    this.#calls += tools.calls;
    tools.stop();
  }

  #alertBoard(end: UpstreamEnd): void {
    const { sessionId } = this.board;
    if (this.#phase === "speaking") {
      this.board.sendText(JSON.stringify({ type: "tts", state: "stop", session_id: sessionId }));
    }
    this.board.sendText(alertText(sessionId, end));
  }

  /** Tools keep working meanwhile. A running call delays the end. */
  #endAfter(end: UpstreamEnd, afterMs: number): void {
    const { clock } = this.#dependencies;
    const latest = clock.monotonic() + maxEndingMs;
    const later = (ms: number) => {
      this.#state = { kind: "ending", timer: clock.after(ms, hangUp) };
    };
    const hangUp = () => {
      if (this.#state.kind === "ended") return;
      if (this.board.busy && clock.monotonic() < latest) {
        later(busyRetryMs);
        return;
      }
      this.#finish(end);
      this.board.hangUp(`the conversation with the voice server ended: ${end.detail}`);
    };
    if (afterMs === 0) hangUp();
    else later(afterMs);
  }

  #finish(end: UpstreamEnd): void {
    const state = this.#state;
    if (state.kind === "ended") return;
    this.#state = { kind: "ended" };
    switch (state.kind) {
      case "ending":
        state.timer.cancel();
        break;
      case "open":
        this.#stopTools(state.tools);
        state.link.leave();
        break;
      case "opening":
        state.link.leave();
        break;
      case "parked":
        break;
      default:
        state satisfies never;
    }
    this.#dependencies.audio.close();
    this.#dependencies.onEnd(this, end);
  }
}

/** What the board's screen shows when the voice server fails [VOI-9]. Short, because some screens are tiny. */
const messages: Readonly<Record<UpstreamEnd["kind"], string>> = {
  unreachable: "The voice server cannot be reached. Try again later.",
  refused: "The voice server rejected this device.",
  inactive: "Activate this device at its voice server.",
  silent: "The voice server does not answer. Try again later.",
  closed: "The voice server ended the conversation.",
  broken: "The connection to the voice server was lost. Try again.",
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
