/**
 * One connection of one board, from its hello to its end. The state is one union with one transition function;
 * what a message means is decided in `handlers/`, and what it means for the rest of the world by the owner.
 */
import {
  type AudioFraming,
  audioFramingOf,
  decodeAudio,
  decodeDeviceFrame,
  encodeMcp,
  encodeRequest,
  encodeServerMessage,
  isObject,
  type JsonObject,
  limits,
  parseJson,
  type ServerMessage,
  speaksMcp,
} from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";
import type { DeviceSession, SessionOwner } from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import { withoutKey } from "./frame-masking.ts";
import { handleMessage } from "./handlers/handlers.ts";
import type { DeviceIdentity, DeviceLink } from "./link.ts";
import { type Answer, type CallIdentity, type RequestOptions, Requests } from "./requests.ts";
import { Setup } from "./setup.ts";
import { ToolsOnly } from "./tools-only.ts";
import type { UdpAddress } from "./udp-sink.ts";
import type { BoardHello, VoiceConversation, VoiceService } from "./voice-service.ts";
import { VoiceSession } from "./voice-session.ts";

export type SessionState =
  | { readonly kind: "greeting" }
  /** Hello said; the device offers no tools. */
  | { readonly kind: "plain" }
  /** Hello said; being initialised and listed, or done with it. */
  | { readonly kind: "mcp" }
  | { readonly kind: "closed"; readonly reason: string };

type SessionStep =
  | { readonly step: "hello"; readonly mcp: boolean }
  | { readonly step: "close"; readonly reason: string };

function transition(state: SessionState, event: SessionStep): SessionState {
  if (state.kind === "closed") return state;
  switch (event.step) {
    case "hello":
      return { kind: event.mcp ? "mcp" : "plain" };
    case "close":
      return { kind: "closed", reason: event.reason };
    default:
      return event satisfies never;
  }
}

export interface SessionNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly firstRequestId: number;
  readonly queueLimit: number;
  /** Merged into `initialize`; read for every one, so that it may change while the gateway runs. */
  readonly capabilities: () => JsonObject;
  /** Where audio of this device would go, for transports that carry it apart from the messages. */
  readonly audioAddress: () => UdpAddress;
  readonly newSessionId: () => string;
  readonly frames: Pick<FrameLog, "note">;
  /** `undefined` where no voice server is configured at all. */
  readonly voice: VoiceService | undefined;
}

export class BoardSession implements DeviceSession {
  readonly kind = "esp32";
  readonly identity: DeviceIdentity;
  readonly link: DeviceLink;
  readonly connectedAt: number;
  readonly requests: Requests;
  readonly setup: Setup;
  readonly toolsOnly: ToolsOnly;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly audioAddress: () => UdpAddress;
  readonly #newSessionId: () => string;
  readonly #frames: Pick<FrameLog, "note">;
  #sessionId: string;
  readonly #clock: Clock;
  readonly #rate: TokenBucket;
  #state: SessionState = { kind: "greeting" };
  #framing: AudioFraming = 1;
  #lastLife: number;
  /** Set while an answer to a probe is awaited; any sign of life clears it. */
  #probedAt: number | undefined;
  /** Outlives the wait, so that the probe's late answer is not taken for a stray reply. */
  #lastProbeId: number | undefined;
  #helloTimer: Timer | undefined;
  readonly #voice: VoiceService | undefined;
  #conversation: VoiceConversation | undefined;
  droppedAudioFrames = 0;

  constructor(identity: DeviceIdentity, link: DeviceLink, needs: SessionNeeds) {
    this.identity = identity;
    this.link = link;
    this.#sessionId = needs.newSessionId();
    this.#newSessionId = needs.newSessionId;
    this.#frames = needs.frames;
    this.audioAddress = needs.audioAddress;
    this.#voice = needs.voice;
    this.events = needs.events;
    this.owner = needs.owner;
    this.#clock = needs.clock;
    this.connectedAt = needs.clock.now();
    this.#lastLife = needs.clock.monotonic();
    this.#rate = new TokenBucket(
      { burst: limits.deviceFrameBurst.max, everyMs: perSecond(limits.deviceFramesPerSecond.max) },
      this.#lastLife,
    );
    this.requests = new Requests({
      clock: needs.clock,
      queueLimit: needs.queueLimit,
      firstId: needs.firstRequestId,
      send: (payload, envelope) => {
        this.#rate.allowOne();
        return this.sendRpc(payload, envelope);
      },
      onLate: (call, lateMs, failed) => needs.events.callLate(this.deviceId, { ...call, lateMs, failed }),
      onStray: () => needs.events.strayReply(this.deviceId),
    });
    this.setup = new Setup(this, needs.clock, needs.capabilities);
    this.toolsOnly = new ToolsOnly(this, needs.clock);
    this.#helloTimer = needs.clock.after(limits.deviceHelloMs.max, () => this.#helloOverdue());
  }

  get deviceId(): string {
    return this.identity.deviceId;
  }

  /** Over MQTT it changes with every audio session; what was asked before goes on under the new one. */
  get sessionId(): string {
    return this.#sessionId;
  }

  get transport(): string {
    return this.link.transport;
  }

  get hasTools(): boolean {
    return this.#state.kind === "mcp";
  }

  get queuedCalls(): number {
    return this.requests.queued;
  }

  /** No call runs or waits, and the device is not being listed. */
  get nothingDue(): boolean {
    return this.requests.idle && !this.setup.running;
  }

  get state(): SessionState {
    return this.#state;
  }

  get lastSeenAt(): number {
    return Math.round(this.#clock.now() - this.silentForMs);
  }

  get silentForMs(): number {
    return this.#clock.monotonic() - this.#lastLife;
  }

  call(
    tool: string,
    args: JsonObject,
    call: CallIdentity,
    options: Omit<RequestOptions, "call">,
  ): Promise<Answer> {
    const { timeoutMs, signal, envelope, lane, relay } = options;
    const params = { name: tool, arguments: args };
    return this.requests.request("tools/call", params, { timeoutMs, signal, call, envelope, lane, relay });
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Answer> {
    return this.requests.request(method, params, options);
  }

  /** Any sign of life: a frame, or an answer to a transport's ping [DEV-12]. */
  alive(): void {
    this.#lastLife = this.#clock.monotonic();
    this.#probedAt = undefined;
  }

  receiveText(text: string): void {
    if (!this.#admitFrame()) return;
    const kept = this.conversation === undefined ? text : this.#voice?.kept(text);
    this.#frames.note(this.deviceId, "in", kept ?? "");
    const decoded = decodeDeviceFrame(text);
    switch (decoded.outcome) {
      case "ok":
        handleMessage(this, decoded.message, text);
        return;
      case "unknown":
        // A kind that is unknown here may be known to the voice server.
        this.conversation?.fromBoard(text, { type: decoded.kind });
        this.events.frameNotUnderstood(this.deviceId, "unknown", decoded.kind);
        return;
      case "invalid":
        this.#passOnUnread(text);
        this.events.frameNotUnderstood(this.deviceId, "invalid", decoded.reason);
        return;
      default:
        decoded satisfies never;
    }
  }

  /** [VOI-4] What is odd here may be new and known to the voice server; MCP and hellos are for us alone. */
  #passOnUnread(text: string): void {
    const { conversation } = this;
    const message = conversation === undefined ? undefined : parseJson(text);
    if (!isObject(message) || typeof message["type"] !== "string") return;
    if (message["type"] !== "mcp" && message["type"] !== "hello") conversation?.fromBoard(text, message);
  }

  /** [AUD-4] Audio is counted and dropped until there is somebody to hear it. */
  receiveBinary(bytes: Uint8Array): void {
    if (!this.#admitFrame()) return;
    const { conversation } = this;
    if (conversation !== undefined) {
      conversation.audioFromBoard(bytes);
      return;
    }
    const decoded = decodeAudio(this.#framing, bytes);
    if (decoded.outcome === "ok") {
      this.droppedAudioFrames += 1;
      this.events.audioDropped(bytes.byteLength);
      this.toolsOnly.streams();
    } else {
      this.events.frameNotUnderstood(
        this.deviceId,
        "invalid",
        decoded.outcome === "invalid" ? decoded.reason : "audio",
      );
    }
  }

  greet(mcp: boolean, version: unknown): void {
    this.#helloTimer?.cancel();
    this.#helloTimer = undefined;
    this.#framing = audioFramingOf(version);
    this.#state = transition(this.#state, { step: "hello", mcp });
    this.owner.greeted(this);
  }

  /** The one under way; one that is over takes no part in anything. */
  get conversation(): VoiceConversation | undefined {
    return this.#conversation?.over === false ? this.#conversation : undefined;
  }

  /** Begins to talk through the board's voice server; false where it has none. */
  converse(hello: BoardHello): boolean {
    const voice = this.#voice;
    if (voice?.serves(this.deviceId) !== true) return false;
    this.toolsOnly.end();
    this.endConversation("the board said hello again");
    const mcp = speaksMcp(hello.message);
    this.greet(mcp, hello.message.version);
    this.#conversation = voice.begin(new VoiceSession(this, mcp), hello);
    return true;
  }

  endConversation(reason: string): void {
    const conversation = this.#conversation;
    this.#conversation = undefined;
    conversation?.leave(reason);
  }

  /** Devices over MQTT and processes are there as soon as they are connected [MQT-4]. */
  beginWithoutHello(): void {
    this.greet(true, undefined);
    const sessionId = this.#voice?.takeCutOff(this.deviceId);
    if (sessionId !== undefined) this.send({ type: "goodbye", session_id: sessionId });
    this.setup.start();
  }

  /** A new audio session has an id of its own; a goodbye for an old one must not end it. */
  renewSessionId(): void {
    const old = this.#sessionId;
    this.#sessionId = this.#newSessionId();
    this.owner.sessionRenamed(this, old);
  }

  send(message: Exclude<ServerMessage, { payload: unknown; type: "mcp" }>): boolean {
    const text = encodeServerMessage(message);
    return this.#sendText(text, message.type === "hello" ? withoutKey(text) : text);
  }

  /** A text that a voice server has written. */
  sendAsItIs(text: string): boolean {
    return this.#sendText(text, this.#voice?.kept(text) ?? "");
  }

  sendRpc(payload: JsonObject, envelope?: JsonObject): boolean {
    return this.#sendText(encodeMcp(this.sessionId, payload, envelope));
  }

  /** [DEV-13] Asks over MCP whether anybody is there; the firmware's answer is an error, and that is life. */
  probe(): void {
    if (this.#probedAt !== undefined || this.#state.kind !== "mcp") return;
    this.#probedAt = this.#clock.monotonic();
    this.#lastProbeId = this.requests.takeId();
    this.sendRpc(encodeRequest(this.#lastProbeId, "ping"));
  }

  /** Whether a reply answers the last probe; its id is nobody else's. */
  takeProbeReply(id: number): boolean {
    if (this.#lastProbeId !== id) return false;
    this.#lastProbeId = undefined;
    return true;
  }

  get probedForMs(): number | undefined {
    return this.#probedAt === undefined ? undefined : this.#clock.monotonic() - this.#probedAt;
  }

  /**
   * Ends the connection from our side; the device is told why as far as its transport can say it. `deviceLeft`: it is
   * gone already, or has come back on another connection.
   */
  close(closeCode: number, reason: string, deviceLeft = true): void {
    if (this.#state.kind === "closed") return;
    // First, because closing a link may report the end at once, as if the device had left.
    this.linkClosed(reason, deviceLeft);
    this.link.close(closeCode, reason);
  }

  /** The connection has ended, whoever ended it. */
  linkClosed(reason: string, deviceLeft = true): void {
    if (this.#state.kind === "closed") return;
    const wasGreeted = this.#state.kind !== "greeting";
    this.#state = transition(this.#state, { step: "close", reason });
    this.#helloTimer?.cancel();
    if (this.conversation !== undefined && this.transport === "mqtt") {
      this.#voice?.boardCutOff(this.deviceId, this.sessionId);
    }
    this.toolsOnly.end();
    this.endConversation(reason);
    this.setup.stop();
    this.requests.close(reason, deviceLeft);
    if (wasGreeted) this.owner.offline(this, reason);
  }

  #admitFrame(): boolean {
    if (this.#state.kind === "closed") return false;
    this.alive();
    if (this.#rate.take(this.#lastLife)) return true;
    const error = new TendonError("rate_limited", "the device sends too many frames");
    this.events.connectionRefused({ code: error.code, reason: error.message, device: this.deviceId });
    this.close(error.kind.closeCode, error.message, false);
    return false;
  }

  /** `kept`: what of it may be shown to whoever looks for a fault. */
  #sendText(text: string, kept = text): boolean {
    if (this.#state.kind === "closed") return false;
    this.#frames.note(this.deviceId, "out", kept);
    if (this.link.send(text)) return true;
    this.close(1013, "the device does not read what it is sent", false);
    return false;
  }

  #helloOverdue(): void {
    this.events.connectionRefused({
      code: limits.deviceHelloMs.error,
      reason: `no hello within ${limits.deviceHelloMs.max} ms`,
      device: this.deviceId,
    });
    this.close(1008, "no hello in time");
  }
}
