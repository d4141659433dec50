/**
 * One run of one process as a device [PRC-1…8]. The process speaks a dialect (JSON lines or standard MCP). This class
 * has what both share: one call at a time, deadlines, presence, limits.
 */
import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
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
import { LineReader } from "./line-reader.ts";
import type { Listing } from "./listing.ts";
import { ListingPace } from "./listing-pace.ts";
import type { Relay } from "./relay.ts";
import { type Answer, type CallIdentity, type RequestOptions, Requests, randomFirstId } from "./requests.ts";

/** The protocol of a process. */
export interface Dialect {
  receive(line: string): void;
  /** Sends a request. `settle` gets the reply. */
  send(id: number, method: string, params: JsonObject, relay: Relay | undefined): boolean;
  /** Sends a message that has no answer. Rejects if the protocol does not have it. */
  notify(method: string, params: JsonObject | undefined): Promise<void>;
  /** Set for a standard MCP server. */
  readonly mcp?: McpCapabilities | undefined;
  readonly subscriptions?: McpSubscriptions | undefined;
  /** The caller no longer waits for this reply. */
  abandon(id: number): void;
  requestExit(): void;
  /** The process has ended. */
  ended(): void;
}

export interface ProcessSessionDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly deviceId: string;
  readonly queueLimit: number;
  readonly random: () => number;
  /** `process` by default. */
  readonly kind?: "process" | "endpoint";
  /** Finds the id of the device by the name of the MCP server; without it, `deviceId` is final. */
  readonly identify?: (serverName: string | undefined) => Promise<string>;
  readonly stdin: Pick<Writable, "writable" | "writableLength" | "write" | "end">;
  readonly stdout: Pick<Readable, "pause" | "resume">;
  readonly frames: Pick<FrameLog, "record">;
  /** Kills the process. The supervisor reports its end. */
  readonly kill: (why: string) => void;
  readonly createDialect: (session: ProcessSession) => Dialect;
}

export class ProcessSession implements DeviceSession {
  readonly kind: "process" | "endpoint";
  readonly transport: "stdio" | "endpoint";
  readonly hasTools = true;
  readonly droppedAudioFrames = 0;
  readonly sessionId = randomUUID();
  readonly connectedAt: number;
  #deviceId: string;
  readonly #dependencies: ProcessSessionDependencies;
  readonly #requests: Requests;
  readonly #reader: LineReader;
  readonly #intake: Intake;
  readonly #dialect: Dialect;
  #lastLine: number;
  #state: "starting" | "ready" | "closed" = "starting";
  readonly #pace: ListingPace;
  #listingTimer: Timer | undefined;
  /** The frame of the line that is being read. */
  #frame: LoggedFrame | undefined;

  constructor(dependencies: ProcessSessionDependencies) {
    this.#dependencies = dependencies;
    this.kind = dependencies.kind ?? "process";
    this.transport = this.kind === "process" ? "stdio" : "endpoint";
    this.#deviceId = dependencies.deviceId;
    this.connectedAt = dependencies.clock.now();
    this.#lastLine = dependencies.clock.monotonic();
    this.#intake = new Intake(dependencies.clock, programRates, {
      pause: () => {
        dependencies.events.connectionPaused(this.deviceId);
        dependencies.stdout.pause();
      },
      resume: () => dependencies.stdout.resume(),
      cut: (exceeded) =>
        this.close(1008, `the process writes too many ${exceeded === "frames" ? "lines" : "bytes"}`),
    });
    this.#pace = new ListingPace(dependencies.clock);
    this.#reader = new LineReader(
      limits.processLineBytes.max,
      (line) => this.#line(line),
      () => this.notUnderstood("invalid", "a line is too long"),
    );
    const { clock, queueLimit, events, random } = dependencies;
    const connection = {
      clock,
      queueLimit,
      sendRequest: (payload: JsonObject, { relay }: RequestOptions) => {
        this.#intake.expectAnswer(limits.processLineBytes.max);
        return this.#send(payload, relay);
      },
      requestAbandoned: (id: number) => this.#dialect.abandon(id),
      repliedLate: (call: CallIdentity, lateMs: number, failed: boolean) =>
        events.callLate(this.deviceId, { ...call, lateMs, failed }),
      repliedUnexpectedly: () => events.unexpectedReply(this.deviceId),
    };
    this.#requests = new Requests(connection, randomFirstId(random()));
    this.#dialect = dependencies.createDialect(this);
  }

  get deviceId(): string {
    return this.#deviceId;
  }

  /** The MCP server has introduced itself. Comes before `ready`. */
  async identify(serverName: string | undefined): Promise<void> {
    this.#deviceId = (await this.#dependencies.identify?.(serverName)) ?? this.#deviceId;
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
    return this.#dialect.mcp;
  }

  get subscriptions(): McpSubscriptions | undefined {
    return this.#dialect.subscriptions;
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
      await this.#dialect.notify(method, params);
    } catch (error) {
      throw new TendonError("bad_request", `the notification was not sent: ${messageOf(error)}`, {}, error);
    }
  }

  /** Output of the process. */
  receive(chunk: Buffer): void {
    if (this.#state !== "closed" && this.#intake.count(0, chunk.byteLength)) this.#reader.push(chunk);
  }

  /** One whole message, from a connection that has frames. */
  receiveFrame(text: string): void {
    if (this.#state !== "closed" && this.#intake.count(0, text.length)) this.#line(text.trim());
  }

  /** One or more whole lines. */
  write(text: string): boolean {
    const { stdin } = this.#dependencies;
    if (
      this.#state === "closed" ||
      !stdin.writable ||
      stdin.writableLength > limits.deviceSendBufferBytes.max
    ) {
      return false;
    }
    stdin.write(text);
    this.#record("out", text.trimEnd());
    return true;
  }

  /** Closes the process's input. */
  endInput(): void {
    this.#dependencies.stdin.end();
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

  /** The process has listed its tools, for the first time or after a change. */
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

  requestExit(): void {
    this.#dialect.requestExit();
  }

  close(_closeCode: number, reason: string, deviceLeft = true): void {
    this.ended(reason, deviceLeft);
    this.#dependencies.kill(reason);
  }

  ended(reason: string, deviceLeft = true): void {
    if (this.#state === "closed") return;
    const wasReady = this.#state === "ready";
    this.#state = "closed";
    this.#intake.end();
    this.#listingTimer?.cancel();
    this.#dialect.ended();
    this.#requests.close(reason, deviceLeft);
    if (wasReady) this.#dependencies.owner.offline(this, reason);
  }

  #send(payload: JsonObject, relay: Relay | undefined): boolean {
    const { id, method, params } = payload;
    if (this.#dialect.send(Number(id), String(method), isObject(params) ? params : {}, relay)) return true;
    this.close(1013, "the process stopped reading its input");
    return false;
  }

  /** A process runs one call at a time, so requests and replies belong to the running one. Notifications have no id. */
  #record(way: "in" | "out", line: string): LoggedFrame {
    const callId = this.#requests.runningCall;
    const isOfCall = callId !== undefined && line.includes('"id"');
    return this.#dependencies.frames.record(this.deviceId, way, line, isOfCall ? callId : undefined);
  }

  #line(line: string): void {
    if (this.#state === "closed") return;
    this.#lastLine = this.#dependencies.clock.monotonic();
    if (!this.#intake.count(1, 0)) return;
    this.#frame = this.#record("in", line);
    this.#dialect.receive(line);
    this.#frame = undefined;
  }
}
