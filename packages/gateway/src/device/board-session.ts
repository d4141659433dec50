/**
 * One connection of one board, from its hello to its end. The state is one union with one transition function.
 * `handlers/` interpret the messages; the owner connects the session to the rest of the gateway.
 */
import {
  type AudioFraming,
  audioFramingOf,
  type Decoded,
  type DeviceMessage,
  decodeAudio,
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
import type { Events } from "../events/events.ts";
import type { BoardDependencies } from "./board-dependencies.ts";
import type { DeviceSession, SessionOwner } from "./device-session.ts";
import { withoutKey } from "./frame-masking.ts";
import { callAnswered, handleMessage } from "./handlers/handlers.ts";
import type { DeviceIdentity, DeviceLink } from "./link.ts";
import { type Answer, type CallIdentity, type RequestOptions, Requests } from "./requests.ts";
import { type SessionState, transition } from "./session-state.ts";
import { Setup } from "./setup.ts";
import { ToolsOnly } from "./tools-only.ts";
import type { UdpAddress } from "./udp-sink.ts";
import type { BoardHello, VoiceConversation } from "./voice-service.ts";
import { VoiceSession } from "./voice-session.ts";

/** Everything of a notification's frame but its `params`. */
const envelopeBytes = 1_024;
const tooLarge: Decoded<DeviceMessage> = {
  outcome: "invalid",
  reason: "it is too large for an unsolicited message",
};

export class BoardSession implements DeviceSession {
  readonly kind = "esp32";
  readonly identity: DeviceIdentity;
  readonly link: DeviceLink;
  readonly connectedAt: number;
  readonly requests: Requests;
  readonly setup: Setup;
  /** Created when the board first wants to talk. */
  #toolsOnly: ToolsOnly | undefined;
  readonly #dependencies: BoardDependencies;
  #sessionId: string;
  #state: SessionState = { kind: "awaiting_hello" };
  #framing: AudioFraming = 1;
  #lastActivity: number;
  /** Set while a probe is unanswered. Any activity clears it. */
  #probedAt: number | undefined;
  /** Kept after the wait, so that a late answer to the probe is not reported as unexpected. */
  #lastProbeId: number | undefined;
  #helloTimer: Timer | undefined;
  #conversation: VoiceConversation | undefined;
  droppedAudioFrames = 0;

  constructor(identity: DeviceIdentity, link: DeviceLink, dependencies: BoardDependencies) {
    const { clock, capabilities } = dependencies;
    this.identity = identity;
    this.link = link;
    this.#dependencies = dependencies;
    this.#sessionId = dependencies.newSessionId();
    this.connectedAt = clock.now();
    this.#lastActivity = clock.monotonic();
    this.requests = new Requests(this, dependencies.firstRequestId());
    this.setup = new Setup(this, clock, capabilities);
    this.#helloTimer = clock.after(limits.deviceHelloMs.max, () => this.#helloTimedOut());
  }

  get toolsOnly(): ToolsOnly {
    this.#toolsOnly ??= new ToolsOnly(this, this.clock);
    return this.#toolsOnly;
  }

  endToolsOnly(): void {
    this.#toolsOnly?.end();
  }

  get events(): Events {
    return this.#dependencies.events;
  }

  get owner(): SessionOwner {
    return this.#dependencies.owner;
  }

  get clock(): Clock {
    return this.#dependencies.clock;
  }

  get queueLimit(): number {
    return this.#dependencies.queueLimit;
  }

  get audioAddress(): () => UdpAddress {
    return this.#dependencies.audioAddress;
  }

  get deviceId(): string {
    return this.identity.deviceId;
  }

  /** Over MQTT it changes with every audio session. Running requests continue under the new id. */
  get sessionId(): string {
    return this.#sessionId;
  }

  get transport(): string {
    return this.link.transport;
  }

  get hasTools(): boolean {
    return this.#state.kind === "mcp";
  }

  get busy(): boolean {
    return !this.requests.idle;
  }

  get queuedCalls(): number {
    return this.requests.queued;
  }

  holdLiveCalls(): () => void {
    return this.requests.holdLiveCalls();
  }

  /** No call is running or queued, and the device is not being listed. */
  get isIdle(): boolean {
    return this.requests.idle && !this.setup.running;
  }

  get state(): SessionState {
    return this.#state;
  }

  get lastSeenAt(): number {
    return Math.round(this.clock.now() - this.silentForMs);
  }

  get silentForMs(): number {
    return this.clock.monotonic() - this.#lastActivity;
  }

  call(
    tool: string,
    args: JsonObject,
    call: CallIdentity,
    options: Omit<RequestOptions, "call">,
  ): Promise<Answer> {
    const { timeoutMs, signal, envelope, lane, relay, onSent } = options;
    const sent = { timeoutMs, signal, call, envelope, lane, relay, onSent };
    return this.requests.request("tools/call", { name: tool, arguments: args }, sent);
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Answer> {
    return this.requests.request(method, params, options);
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    this.sendRpc({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
  }

  /** Records activity: a frame, or an answer to a ping of the transport [DEV-12]. */
  alive(): void {
    this.#lastActivity = this.clock.monotonic();
    this.#probedAt = undefined;
  }

  receiveText(text: string): void {
    if (!this.#admitFrame()) return;
    const logged = this.conversation === undefined ? text : this.#dependencies.voice?.loggable(text);
    const frame = this.#dependencies.frames.record(this.deviceId, "in", logged ?? "");
    const decoded = this.#isTooLarge(text) ? tooLarge : this.#dependencies.knownResults.decode(text);
    switch (decoded.outcome) {
      case "ok":
        frame.callId = callAnswered(this, decoded.message);
        handleMessage(this, decoded.message, text);
        return;
      case "unknown":
        // The voice server may know a kind that the gateway does not.
        this.conversation?.fromBoard(text, { type: decoded.kind });
        frame.notUnderstood = `unknown type \`${decoded.kind}\``;
        this.events.frameNotUnderstood(this.deviceId, "unknown", decoded.kind);
        return;
      case "invalid":
        this.#forwardUnread(text);
        frame.notUnderstood = decoded.reason;
        if (decoded.replyTo !== undefined) frame.callId = this.requests.callWith(decoded.replyTo);
        this.events.frameNotUnderstood(this.deviceId, "invalid", decoded.reason);
        this.requests.notUnderstood(decoded.reason, decoded.replyTo);
        return;
      default:
        decoded satisfies never;
    }
  }

  /** Judged before parsing: without a request, only a notification can come, and those are small. */
  #isTooLarge(text: string): boolean {
    return (
      text.length > limits.notificationBytes.max + envelopeBytes &&
      !this.requests.expectsReply &&
      this.conversation === undefined
    );
  }

  /** [VOI-4] The voice server may understand a message that the gateway cannot read. MCP and hellos are only for us. */
  #forwardUnread(text: string): void {
    const { conversation } = this;
    const message = conversation === undefined ? undefined : parseJson(text);
    if (!isObject(message) || typeof message["type"] !== "string") return;
    if (message["type"] !== "mcp" && message["type"] !== "hello") conversation?.fromBoard(text, message);
  }

  /** [AUD-4] Audio is counted and dropped while there is no conversation. */
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
      this.toolsOnly.audioReceived();
    } else {
      this.events.frameNotUnderstood(
        this.deviceId,
        "invalid",
        decoded.outcome === "invalid" ? decoded.reason : "audio",
      );
    }
  }

  /** Returns false if the connection was closed, because another board has the identity. */
  helloReceived(mcp: boolean, version: unknown): boolean {
    this.#helloTimer?.cancel();
    this.#helloTimer = undefined;
    this.#framing = audioFramingOf(version);
    if (!this.#dependencies.confirm(this.identity)) {
      this.close(1008, "another board joined with this Device-Id first");
      return false;
    }
    this.#state = transition(this.#state, { step: "hello", mcp });
    this.owner.online(this);
    return true;
  }

  /** The running conversation; `undefined` if it has ended. */
  get conversation(): VoiceConversation | undefined {
    return this.#conversation?.over === false ? this.#conversation : undefined;
  }

  /** Starts a conversation with the board's voice server; false if it has none. */
  startConversation(hello: BoardHello): boolean {
    const { voice } = this.#dependencies;
    if (voice?.serves(this.deviceId) !== true) return false;
    this.endToolsOnly();
    this.endConversation("the board sent a new hello");
    const mcp = speaksMcp(hello.message);
    if (!this.helloReceived(mcp, hello.message.version)) return true;
    this.#conversation = voice.begin(new VoiceSession(this, mcp), hello);
    return true;
  }

  endConversation(reason: string): void {
    const conversation = this.#conversation;
    this.#conversation = undefined;
    conversation?.leave(reason);
  }

  /** Devices over MQTT are online as soon as they are connected [MQT-4]. */
  beginWithoutHello(): void {
    if (!this.helloReceived(true, undefined)) return;
    const sessionId = this.#dependencies.voice?.takeInterruptedSession(this.deviceId);
    if (sessionId !== undefined) this.send({ type: "goodbye", session_id: sessionId });
    this.setup.start();
  }

  /** Each audio session has its own id, so that a goodbye for an old one does not end it. */
  renewSessionId(): void {
    const old = this.#sessionId;
    this.#sessionId = this.#dependencies.newSessionId();
    this.owner.sessionRenamed(this, old);
  }

  send(message: Exclude<ServerMessage, { payload: unknown; type: "mcp" }>): boolean {
    const text = encodeServerMessage(message);
    return this.#sendText(text, message.type === "hello" ? withoutKey(text) : text);
  }

  /** Sends a text of a voice server unchanged. */
  sendRaw(text: string): boolean {
    return this.#sendText(text, this.#dependencies.voice?.loggable(text) ?? "");
  }

  /** For the session's own requests. */
  sendRequest(payload: JsonObject, { envelope, call }: RequestOptions): boolean {
    return this.sendRpc(payload, envelope, call?.callId);
  }

  repliedLate(call: CallIdentity, lateMs: number, failed: boolean): void {
    this.events.callLate(this.deviceId, { ...call, lateMs, failed });
  }

  repliedUnexpectedly(): void {
    this.events.unexpectedReply(this.deviceId);
  }

  sendRpc(payload: JsonObject, envelope?: JsonObject, callId?: string): boolean {
    return this.#sendText(encodeMcp(this.sessionId, payload, envelope), undefined, callId);
  }

  /** [DEV-13] Pings over MCP. The firmware answers with an error, which counts as activity. */
  probe(): void {
    if (this.#probedAt !== undefined || this.#state.kind !== "mcp") return;
    this.#probedAt = this.clock.monotonic();
    this.#lastProbeId = this.requests.takeId();
    this.sendRpc(encodeRequest(this.#lastProbeId, "ping"));
  }

  /** Whether a reply answers the last probe. No other request has its id. */
  takeProbeReply(id: number): boolean {
    if (this.#lastProbeId !== id) return false;
    this.#lastProbeId = undefined;
    return true;
  }

  get probedForMs(): number | undefined {
    return this.#probedAt === undefined ? undefined : this.clock.monotonic() - this.#probedAt;
  }

  /**
   * Closes the connection. The device gets the reason if its transport can carry one. `deviceLeft`: the device has
   * already gone, or has reconnected on another connection.
   */
  close(closeCode: number, reason: string, deviceLeft = true): void {
    if (this.#state.kind === "closed") return;
    // First, because `link.close` may call `linkClosed` at once, as if the device had left.
    this.linkClosed(reason, deviceLeft);
    this.link.close(closeCode, reason);
  }

  /** Called when the connection has ended, from either side. */
  linkClosed(reason: string, deviceLeft = true): void {
    if (this.#state.kind === "closed") return;
    const wasOnline = this.#state.kind !== "awaiting_hello";
    this.#state = transition(this.#state, { step: "close", reason });
    this.#helloTimer?.cancel();
    if (this.conversation !== undefined && this.transport === "mqtt") {
      this.#dependencies.voice?.sessionInterrupted(this.deviceId, this.sessionId);
    }
    this.endToolsOnly();
    this.endConversation(reason);
    this.setup.stop();
    this.requests.close(reason, deviceLeft);
    if (wasOnline) this.owner.offline(this, reason);
  }

  #admitFrame(): boolean {
    if (this.#state.kind === "closed") return false;
    this.alive();
    return true;
  }

  /** `logged`: the text for the frame log, with secrets masked. */
  #sendText(text: string, logged = text, callId?: string): boolean {
    if (this.#state.kind === "closed") return false;
    this.#dependencies.frames.record(this.deviceId, "out", logged, callId);
    if (this.link.send(text)) return true;
    this.close(1013, "the device stopped reading from its connection", false);
    return false;
  }

  /** Closes the connection of a device that sends more than it may. */
  flooded(exceeded: "frames" | "bytes"): void {
    const reason = `the device sends too many ${exceeded}`;
    this.events.connectionRefused({ code: "rate_limited", reason, device: this.deviceId });
    this.close(1008, reason, false);
  }

  #helloTimedOut(): void {
    this.events.connectionRefused({
      code: limits.deviceHelloMs.error,
      reason: `no hello within ${limits.deviceHelloMs.max} ms`,
      device: this.deviceId,
    });
    this.close(1008, "no hello within the deadline");
  }
}
