/**
 * One run of one process as a device [PRC-1…8]. The process speaks a dialect (lines of JSON, or standard MCP); here
 * is what both have in common: one call at a time, deadlines, presence, bounds.
 */
import { randomUUID } from "node:crypto";
import type { Writable } from "node:stream";
import { type DeviceRpc, isObject, type JsonObject, limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Events } from "../events/events.ts";
import { perSecond, TokenBucket } from "../token-bucket.ts";
import type {
  DeviceInfo,
  DeviceSession,
  McpCapabilities,
  McpSubscriptions,
  SessionOwner,
} from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import { LineReader } from "./line-reader.ts";
import type { Listing } from "./listing.ts";
import type { Relay } from "./relay.ts";
import { type Answer, type CallIdentity, type RequestOptions, Requests, randomFirstId } from "./requests.ts";

/** How a process speaks. */
export interface Dialect {
  receive(line: string): void;
  /** Sends a request; its answer comes back through `settle`. */
  send(id: number, method: string, params: JsonObject, relay: Relay | undefined): boolean;
  /** What it offers beside tools, where it is a standard MCP server. */
  readonly mcp?: McpCapabilities | undefined;
  readonly subscriptions?: McpSubscriptions | undefined;
  /** Nobody waits for this answer any more. */
  giveUp(id: number): void;
  farewell(): void;
  /** The process is gone. */
  ended(): void;
}

export interface ProcessSessionNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly deviceId: string;
  readonly queueLimit: number;
  readonly random: () => number;
  readonly stdin: Writable;
  readonly frames: Pick<FrameLog, "note">;
  /** Ends the process; its supervisor tells when it is gone. */
  readonly kill: (why: string) => void;
  readonly speak: (session: ProcessSession) => Dialect;
}

export class ProcessSession implements DeviceSession {
  readonly kind = "process";
  readonly transport = "stdio";
  readonly hasTools = true;
  readonly droppedAudioFrames = 0;
  readonly sessionId = randomUUID();
  readonly deviceId: string;
  readonly connectedAt: number;
  readonly #needs: ProcessSessionNeeds;
  readonly #requests: Requests;
  readonly #reader: LineReader;
  readonly #rate: TokenBucket;
  readonly #dialect: Dialect;
  #lastLine: number;
  #state: "starting" | "ready" | "closed" = "starting";

  constructor(needs: ProcessSessionNeeds) {
    this.#needs = needs;
    this.deviceId = needs.deviceId;
    this.connectedAt = needs.clock.now();
    this.#lastLine = needs.clock.monotonic();
    this.#rate = new TokenBucket(
      { burst: limits.processLineBurst.max, everyMs: perSecond(limits.processLinesPerSecond.max) },
      this.#lastLine,
    );
    this.#reader = new LineReader(
      limits.processLineBytes.max,
      (line) => this.#line(line),
      () => needs.events.frameNotUnderstood(this.deviceId, "invalid", "a line is too long"),
    );
    this.#requests = new Requests({
      clock: needs.clock,
      queueLimit: needs.queueLimit,
      firstId: randomFirstId(needs.random()),
      send: (payload, _envelope, relay) => {
        this.#rate.allowOne();
        return this.#send(payload, relay);
      },
      onGivenUp: (id) => this.#dialect.giveUp(id),
      onLate: (call, lateMs, failed) => needs.events.callLate(this.deviceId, { ...call, lateMs, failed }),
      onStray: () => needs.events.strayReply(this.deviceId),
    });
    this.#dialect = needs.speak(this);
  }

  get events(): Events {
    return this.#needs.events;
  }

  get clock(): Clock {
    return this.#needs.clock;
  }

  get queuedCalls(): number {
    return this.#requests.queued;
  }

  get lastSeenAt(): number {
    return Math.round(this.#needs.clock.now() - (this.#needs.clock.monotonic() - this.#lastLine));
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

  /** What the process wrote. */
  receive(chunk: Buffer): void {
    if (this.#state !== "closed") this.#reader.push(chunk);
  }

  /** One or more whole lines. */
  write(text: string): boolean {
    const { stdin } = this.#needs;
    if (
      this.#state === "closed" ||
      !stdin.writable ||
      stdin.writableLength > limits.deviceSendBufferBytes.max
    ) {
      return false;
    }
    stdin.write(text);
    this.#needs.frames.note(this.deviceId, "out", text.trimEnd());
    return true;
  }

  /** Nothing more will be said to it. */
  endInput(): void {
    this.#needs.stdin.end();
  }

  settle(reply: Extract<DeviceRpc, { kind: "result" | "error" }>): void {
    this.#requests.settle(reply);
  }

  /** Stops a call's deadline while its caller is asked something, until the returned function is called. */
  hold(id: number): () => void {
    return this.#requests.hold(id);
  }

  /** The process has said what it can do; said again, its tools have changed. */
  ready(info: DeviceInfo, listing: Listing): void {
    if (this.#state === "closed") return;
    const first = this.#state === "starting";
    this.#state = "ready";
    if (first) this.#needs.owner.greeted(this);
    this.#needs.owner.initialised(this, info);
    this.#needs.owner.listed(this, listing);
  }

  /** Says whether it was small enough to be told. */
  notified(method: string, params: unknown): boolean {
    if (this.#state !== "ready") return false;
    const size = params === undefined ? 0 : JSON.stringify(params).length;
    if (size > limits.notificationBytes.max || method.length > limits.toolNameLength.max) {
      this.events.frameNotUnderstood(this.deviceId, "invalid", "a notification is too large");
      return false;
    }
    this.events.notification(this.deviceId, method, params);
    return true;
  }

  farewell(): void {
    this.#dialect.farewell();
  }

  close(_closeCode: number, reason: string, deviceLeft = true): void {
    this.ended(reason, deviceLeft);
    this.#needs.kill(reason);
  }

  ended(reason: string, deviceLeft = true): void {
    if (this.#state === "closed") return;
    const wasReady = this.#state === "ready";
    this.#state = "closed";
    this.#dialect.ended();
    this.#requests.close(reason, deviceLeft);
    if (wasReady) this.#needs.owner.offline(this, reason);
  }

  #send(payload: JsonObject, relay: Relay | undefined): boolean {
    const { id, method, params } = payload;
    if (this.#dialect.send(Number(id), String(method), isObject(params) ? params : {}, relay)) return true;
    this.close(1013, "the process does not read what it is sent");
    return false;
  }

  #line(line: string): void {
    if (this.#state === "closed") return;
    this.#lastLine = this.#needs.clock.monotonic();
    if (this.#rate.take(this.#lastLine)) {
      this.#needs.frames.note(this.deviceId, "in", line);
      this.#dialect.receive(line);
    } else this.close(1008, "the process says too much");
  }
}
