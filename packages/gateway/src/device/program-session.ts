/**
 * One connection to a program that is a device: a run of a process [PRC-1…8], an MCP server over HTTP [HTD-1], or
 * a tool provider that has connected to the gateway [END-11]. The program speaks a dialect (JSON lines or standard MCP). This class has what all share: one call at a time, deadlines,
 * presence, limits. Subclasses have the transport.
 */
import { randomUUID } from "node:crypto";
import { cleanAnswer, cleanValue, type DeviceRpc, isObject, type JsonObject, limits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import { messageOf, TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { Intake, programRates } from "../intake.ts";
import type {
  DeviceInfo,
  DeviceSession,
  McpCapabilities,
  McpSubscriptions,
  SessionOwner,
} from "./device-session.ts";
import type { FrameLog, LoggedFrame } from "./frame-log.ts";
import type { Listing } from "./listing.ts";
import { ListingPace } from "./listing-pace.ts";
import type { Relay } from "./relay.ts";
import { type Answer, type CallIdentity, type RequestOptions, Requests, randomFirstId } from "./requests.ts";

/** The protocol of a program. */
export interface Dialect {
  /** Sends a request. `settle` gets the reply. */
  send(id: number, method: string, params: JsonObject, relay: Relay | undefined): boolean;
  /** Sends a message that has no answer. Rejects if the protocol does not have it. */
  notify(method: string, params: JsonObject | undefined): Promise<void>;
  /** Set for a standard MCP server. */
  readonly mcp?: McpCapabilities | undefined;
  readonly subscriptions?: McpSubscriptions | undefined;
  /** The caller no longer waits for this reply. */
  abandon(id: number): void;
  /** The connection has ended. */
  ended(): void;
}

export interface ProgramSessionDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly deviceId: string;
  readonly queueLimit: number;
  readonly random: () => number;
  readonly frames: Pick<FrameLog, "record">;
  /** Stops and continues reading what the program sends. */
  readonly flow: { pause(): void; resume(): void };
}

export abstract class ProgramSession implements DeviceSession {
  abstract readonly kind: DeviceSession["kind"];
  abstract readonly transport: string;
  readonly hasTools = true;
  readonly droppedAudioFrames = 0;
  readonly sessionId = randomUUID();
  readonly connectedAt: number;
  protected readonly intake: Intake;
  protected abstract readonly dialect: Dialect;
  readonly #dependencies: ProgramSessionDependencies;
  readonly #requests: Requests;
  #deviceId: string;
  #lastLine: number;
  #state: "starting" | "ready" | "closed" = "starting";
  readonly #pace: ListingPace;
  #listingTimer: Timer | undefined;
  /** The frame of the message that is being read. */
  #frame: LoggedFrame | undefined;

  constructor(dependencies: ProgramSessionDependencies) {
    this.#dependencies = dependencies;
    this.#deviceId = dependencies.deviceId;
    this.connectedAt = dependencies.clock.now();
    this.#lastLine = dependencies.clock.monotonic();
    this.intake = new Intake(dependencies.clock, programRates, {
      pause: () => {
        dependencies.events.connectionPaused(this.deviceId);
        dependencies.flow.pause();
      },
      resume: () => dependencies.flow.resume(),
      cut: (exceeded) => this.close(1008, this.floodReason(exceeded)),
    });
    this.#pace = new ListingPace(dependencies.clock);
    const { clock, queueLimit, events, random } = dependencies;
    const connection = {
      clock,
      queueLimit,
      sendRequest: (payload: JsonObject, { relay }: RequestOptions) => {
        this.intake.expectAnswer(limits.processLineBytes.max);
        return this.#send(payload, relay);
      },
      requestAbandoned: (id: number) => this.dialect.abandon(id),
      repliedLate: (call: CallIdentity, lateMs: number, failed: boolean) =>
        events.callLate(this.deviceId, { ...call, lateMs, failed }),
      repliedUnexpectedly: () => events.unexpectedReply(this.deviceId),
    };
    this.#requests = new Requests(connection, randomFirstId(random()));
  }

  protected abstract floodReason(exceeded: "frames" | "bytes"): string;
  /** Why the session ends if a request cannot be sent. */
  protected abstract readonly sendFailure: string;
  abstract close(closeCode: number, reason: string, deviceLeft?: boolean): void;

  get deviceId(): string {
    return this.#deviceId;
  }

  get events(): Events {
    return this.#dependencies.events;
  }

  get clock(): Clock {
    return this.#dependencies.clock;
  }

  get busy(): boolean {
    return !this.#requests.idle;
  }

  get queuedCalls(): number {
    return this.#requests.queued;
  }

  holdLiveCalls(): () => void {
    return this.#requests.holdLiveCalls();
  }

  get lastSeenAt(): number {
    return Math.round(
      this.#dependencies.clock.now() - (this.#dependencies.clock.monotonic() - this.#lastLine),
    );
  }

  get mcp(): McpCapabilities | undefined {
    return this.dialect.mcp;
  }

  get subscriptions(): McpSubscriptions | undefined {
    return this.dialect.subscriptions;
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  call(
    tool: string,
    args: JsonObject,
    call: CallIdentity,
    options: Omit<RequestOptions, "call">,
  ): Promise<Answer> {
    return this.#requests.request("tools/call", { name: tool, arguments: args }, { ...options, call });
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Answer> {
    return this.#requests.request(method, params, options);
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    try {
      await this.dialect.notify(method, params);
    } catch (error) {
      throw new TendonError("bad_request", `the notification was not sent: ${messageOf(error)}`, {}, error);
    }
  }

  settle(reply: Extract<DeviceRpc, { kind: "result" | "error" }>): void {
    this.#requests.settle(reply);
  }

  /** `replyTo`: the request that the line was meant to answer, if that is clear. */
  notUnderstood(outcome: "unknown" | "invalid", why: string, replyTo?: number): void {
    if (this.#frame !== undefined) this.#frame.notUnderstood = why;
    this.events.frameNotUnderstood(this.deviceId, outcome, why);
    this.#requests.notUnderstood(why, replyTo);
  }

  /** Pauses a call's deadline while its caller is asked a question, until the returned function is called. */
  pauseDeadline(id: number): () => void {
    return this.#requests.pauseDeadline(id);
  }

  /** The program has listed its tools, for the first time or after a change. */
  ready(info: DeviceInfo, listing: Listing): void {
    if (this.#state === "closed") return;
    const first = this.#state === "starting";
    this.#state = "ready";
    if (first) this.#dependencies.owner.online(this);
    this.#dependencies.owner.initialised(this, info);
    this.#dependencies.owner.listed(this, listing);
  }

  /** Runs this as soon as the tools may be listed again; of several, the last one. */
  paceListing(list: () => void): void {
    this.#listingTimer?.cancel();
    const pauseMs = this.#pace.begin();
    if (pauseMs === 0) list();
    else this.#listingTimer = this.clock.after(pauseMs, () => this.paceListing(list));
  }

  /** Returns whether the notification was small enough and was reported. */
  notified(method: string, params: unknown): boolean {
    if (this.#state !== "ready") return false;
    const size = params === undefined ? 0 : JSON.stringify(params).length;
    if (size > limits.notificationBytes.max || method.length > limits.toolNameLength.max) {
      this.notUnderstood("invalid", "a notification is too large");
      return false;
    }
    this.events.notification(this.deviceId, cleanAnswer(method), cleanValue(params));
    return true;
  }

  /** The connection has failed. `sent`: whether the program may have received the running request. */
  lost(reason: string, sent: boolean): void {
    this.ended(reason, true, sent);
    this.close(1006, reason);
  }

  ended(reason: string, deviceLeft = true, sent = true): void {
    if (this.#state === "closed") return;
    const wasReady = this.#state === "ready";
    this.#state = "closed";
    this.intake.end();
    this.#listingTimer?.cancel();
    this.dialect.ended();
    this.#requests.close(reason, deviceLeft, sent);
    if (wasReady) this.#dependencies.owner.offline(this, reason);
  }

  #send(payload: JsonObject, relay: Relay | undefined): boolean {
    const { id, method, params } = payload;
    if (this.dialect.send(Number(id), String(method), isObject(params) ? params : {}, relay)) return true;
    this.close(1013, this.sendFailure);
    return false;
  }

  /** A program runs one call at a time, so requests and replies belong to the running one. Notifications have no id. */
  record(way: "in" | "out", text: string): LoggedFrame {
    const callId = this.#requests.runningCall;
    const isOfCall = callId !== undefined && text.includes('"id"');
    return this.#dependencies.frames.record(this.deviceId, way, text, isOfCall ? callId : undefined);
  }

  /** A message of the program, as text. `handle` passes it to the dialect. */
  protected received(text: string, handle: () => void): void {
    if (this.#state === "closed") return;
    this.sign();
    if (!this.intake.count(1, 0)) return;
    this.#frame = this.record("in", text);
    handle();
    this.#frame = undefined;
  }

  /** The program's id became known after it had connected. Comes before `ready`. */
  protected identified(deviceId: string): void {
    this.#deviceId = deviceId;
  }

  /** The program has shown that it is there. */
  protected sign(): void {
    this.#lastLine = this.#dependencies.clock.monotonic();
  }
}
