/**
 * The requests of one connection: one at a time, in order, each matched by id [RPC-1…5]. Housekeeping (initialize,
 * tools/list) goes before queued calls; the queue of calls is bounded. Every request is settled: by the reply, its
 * deadline, its caller, or the end of the connection.
 */
import {
  cleanAnswer,
  cleanValue,
  type DeviceRpc,
  encodeRequest,
  type JsonObject,
  largestRequestId,
  leavesInsteadOfAnswering,
  limits,
  nextRequestId,
  upgradeTool,
} from "@tendon/protocol";
import { Batch } from "../batch.ts";
import type { Cancellation } from "../cancellation.ts";
import type { Clock, Timer } from "../clock.ts";
import { jsonRpcErrorOf, TendonError } from "../errors.ts";
import { type CallLane, CallLanes } from "./call-lanes.ts";
import type { Relay } from "./relay.ts";

type Reply = Extract<DeviceRpc, { kind: "result" | "error" }>;

/** A tool call as its caller knows it, so that a late reply can be reported for the right call. */
export interface CallIdentity {
  readonly callId: string;
  readonly tool: string;
}

export interface RequestOptions {
  readonly timeoutMs: number;
  readonly signal?: Cancellation | undefined;
  /** Set for a call, which waits in the bounded queue; its deadline includes the wait. Not set for housekeeping. */
  readonly call?: CallIdentity | undefined;
  /** Additional fields of the request's envelope. */
  readonly envelope?: JsonObject | undefined;
  /**
   * Calls of a voice server, and calls that waited for the device, have queues of their own. They alternate with the
   * other calls, so that none blocks another; those of a voice server go before those that waited.
   */
  readonly lane?: CallLane | undefined;
  /** For callers and devices that both speak MCP. */
  readonly relay?: Relay | undefined;
  /** Called when the request leaves the queue and is sent. */
  readonly onSent?: (() => void) | undefined;
}

export interface Answer {
  readonly result: unknown;
  /** The device disconnected to run the call and will not answer [MCP-13]. */
  readonly left: boolean;
  readonly queuedMs: number;
}

/** The connection that the requests are for. */
export interface RequestConnection {
  readonly clock: Clock;
  readonly queueLimit: number;
  sendRequest(payload: JsonObject, options: RequestOptions): boolean;
  /** The caller no longer waits for this reply. A peer that supports cancellation can stop. */
  requestAbandoned?(id: number): void;
  repliedLate(call: CallIdentity, lateMs: number, failed: boolean): void;
  repliedUnexpectedly(): void;
}

interface Pending {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly options: RequestOptions;
  readonly enteredAt: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: TendonError) => void;
  id: number;
  sentAt: number | undefined;
  dueAt: number;
  timer: Timer | undefined;
  unlisten: (() => void) | undefined;
  /** Why a message that came meanwhile was not understood. It may have been the answer. */
  notUnderstood: string | undefined;
}

/** Shared by all devices: processing the replies of one event-loop turn together is faster. */
const answers = new Batch<{ readonly pending: Pending; readonly answer: Answer }>(({ pending, answer }) =>
  pending.resolve(answer),
);

export class Requests {
  readonly #connection: RequestConnection;
  #nextId: number;
  readonly #lanes = new CallLanes<Pending>(isHousekeeping, laneOf);
  #current: Pending | undefined;
  #closed: string | undefined;
  /** Created when a reply is first late: most connections never have one. */
  #abandoned: Map<number, { call: CallIdentity; at: number }> | undefined;

  constructor(connection: RequestConnection, firstId: number) {
    this.#connection = connection;
    this.#nextId = firstId;
  }

  get queued(): number {
    return this.#lanes.size;
  }

  get idle(): boolean {
    return this.#current === undefined && this.queued === 0;
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Answer> {
    const { call, signal } = options;
    if (this.#closed !== undefined) return Promise.reject(disconnected(this.#closed, false));
    if (signal?.aborted) return Promise.reject(cancelled(false));
    const before = this.#lanes.waitingIn(options.lane);
    if (call !== undefined && this.#current !== undefined && before >= this.#connection.queueLimit) {
      return Promise.reject(
        new TendonError("queue_full", `${before} calls are already waiting for this device`),
      );
    }
    return new Promise<Answer>((resolve, reject) => {
      const pending: Pending = {
        method,
        params,
        options,
        enteredAt: this.#connection.clock.monotonic(),
        resolve,
        reject,
        id: 0,
        sentAt: undefined,
        dueAt: 0,
        timer: undefined,
        unlisten: undefined,
        notUnderstood: undefined,
      };
      if (signal !== undefined) {
        const onAbort = () => this.#abandon(pending, cancelled(pending.sentAt !== undefined));
        signal.addEventListener("abort", onAbort);
        pending.unlisten = () => signal.removeEventListener("abort", onAbort);
      }
      if (call !== undefined) this.#startTimer(pending);
      this.#lanes.add(pending);
      this.#pump();
    });
  }

  /** Lets other calls wait until the returned function is called, while calls run that waited for the device [QUE-4]. */
  holdLiveCalls(): () => void {
    const release = this.#lanes.holdLive();
    return () => {
      if (release()) this.#pump();
    };
  }

  /** Whether a reply can come: to the running request, or late to one that was given up. */
  get expectsReply(): boolean {
    return this.#current !== undefined || (this.#abandoned?.size ?? 0) > 0;
  }

  /** The call whose reply has this id, also if the call has ended. */
  callWith(id: number): string | undefined {
    const current = this.#current;
    if (current?.id === id) return current.options.call?.callId;
    return this.#abandoned?.get(id)?.call.callId;
  }

  /** The call that runs now. */
  get runningCall(): string | undefined {
    return this.#current?.options.call?.callId;
  }

  /** An id for a message that is not queued, such as a ping. */
  takeId(): number {
    const id = this.#nextId;
    this.#nextId = nextRequestId(id);
    return id;
  }

  /**
   * Pauses the deadline of the running request while its caller is asked a question, until the returned function is
   * called. The maximum deadline of a call still applies.
   */
  pauseDeadline(id: number): () => void {
    const pending = this.#current;
    if (pending?.id !== id) return () => undefined;
    const { clock } = this.#connection;
    const lastAt = pending.enteredAt + limits.callTimeoutMs.max;
    const leftMs = pending.dueAt - clock.monotonic();
    this.#startTimer(pending, lastAt - clock.monotonic(), unanswered);
    return () => {
      if (this.#current === pending) {
        this.#startTimer(pending, Math.min(leftMs, lastAt - clock.monotonic()));
      }
    };
  }

  settle(reply: Reply): void {
    const pending = this.#current;
    if (pending === undefined || pending.id !== reply.id) {
      this.#settleLate(reply);
      return;
    }
    this.#current = undefined;
    this.#release(pending);
    if (reply.kind === "error") {
      const message = reply.message.trim() === "" ? noMessage : cleanAnswer(reply.message);
      const deviceError = cleanValue(jsonRpcErrorOf(reply.cause));
      const context = deviceError === undefined ? { sent: true } : { sent: true, deviceError };
      pending.reject(new TendonError("device_error", message, context, reply.cause));
    } else {
      answers.add({ pending, answer: { result: reply.result, left: false, queuedMs: queuedMs(pending) } });
    }
    this.#pump();
  }

  /**
   * A message of the device was not understood. `replyTo`: the request that it was meant to answer, which ends now. The
   * error of any other running request names the message, if the request times out.
   */
  notUnderstood(reason: string, replyTo: number | undefined): void {
    const pending = this.#current;
    if (pending === undefined) return;
    if (pending.id !== replyTo) {
      pending.notUnderstood = reason;
      return;
    }
    const message = `the device sent an answer that was not understood: ${reason}`;
    this.settle({ kind: "error", id: replyTo, message, salvaged: false });
  }

  /**
   * Ends all requests with the connection. The queues are emptied first, then every request is settled. A no-reply tool
   * succeeds when its device disconnects, unless the gateway closed the connection. `sent`: whether the device may have
   * received the running request.
   */
  close(reason: string, deviceLeft: boolean, sent = true): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    const current = this.#current;
    const waiting = this.#lanes.takeAll();
    this.#current = undefined;
    this.#abandoned = undefined;
    if (current !== undefined) {
      this.#release(current);
      const { call } = current.options;
      if (deviceLeft && sent && call !== undefined && leavesInsteadOfAnswering(call.tool)) {
        current.resolve({ result: undefined, left: true, queuedMs: queuedMs(current) });
      } else {
        current.reject(disconnected(reason, sent));
      }
    }
    for (const pending of waiting) {
      this.#release(pending);
      pending.reject(disconnected(reason, false));
    }
  }

  #startTimer(pending: Pending, ms = pending.options.timeoutMs, late = timedOut): void {
    pending.timer?.cancel();
    pending.dueAt = this.#connection.clock.monotonic() + ms;
    pending.timer = this.#connection.clock.after(ms, () => this.#abandon(pending, late(pending)));
  }

  #pump(): void {
    if (this.#current !== undefined) return;
    const now = this.#connection.clock.monotonic();
    let next = this.#lanes.takeNext();
    // An expired call must not be sent: a stuck device would run a backlog later.
    while (next?.options.call !== undefined && now - next.enteredAt >= next.options.timeoutMs) {
      this.#release(next);
      next.reject(timedOut(next));
      next = this.#lanes.takeNext();
    }
    if (next === undefined) return;
    next.id = this.takeId();
    next.sentAt = now;
    if (next.timer === undefined) this.#startTimer(next);
    this.#current = next;
    // A failed send closes the connection, which settles all requests.
    next.options.onSent?.();
    this.#connection.sendRequest(encodeRequest(next.id, next.method, next.params), next.options);
  }

  #abandon(pending: Pending, error: TendonError): void {
    this.#release(pending);
    if (this.#current === pending) {
      this.#current = undefined;
      if (pending.options.call !== undefined) this.#rememberLate(pending.id, pending.options.call);
      this.#connection.requestAbandoned?.(pending.id);
    } else {
      this.#lanes.remove(pending);
    }
    pending.reject(error);
    this.#pump();
  }

  #rememberLate(id: number, call: CallIdentity): void {
    this.#abandoned ??= new Map();
    this.#abandoned.set(id, { call, at: this.#connection.clock.monotonic() });
    if (this.#abandoned.size <= limits.lateRepliesRemembered.max) return;
    for (const oldest of this.#abandoned.keys()) {
      this.#abandoned.delete(oldest);
      break;
    }
  }

  #settleLate(reply: Reply): void {
    const late = this.#abandoned?.get(reply.id);
    if (late === undefined) {
      this.#connection.repliedUnexpectedly();
      return;
    }
    this.#abandoned?.delete(reply.id);
    const failed = reply.kind === "error" || late.call.tool === upgradeTool;
    this.#connection.repliedLate(late.call, this.#connection.clock.monotonic() - late.at, failed);
  }

  #release(pending: Pending): void {
    pending.timer?.cancel();
    pending.unlisten?.();
  }
}

/** Not closures of a connection: a gateway has very many connections. */
function isHousekeeping({ options }: Pending): boolean {
  return options.call === undefined;
}

function laneOf({ options }: Pending): CallLane | undefined {
  return options.lane;
}

const noMessage = "the device reported an error without a message";

function queuedMs(pending: Pending): number {
  return (pending.sentAt ?? pending.enteredAt) - pending.enteredAt;
}

function timedOut(pending: Pending): TendonError {
  const phase = pending.sentAt === undefined ? "queue" : "device";
  const detail =
    phase === "queue"
      ? `the call waited in the device's queue for ${pending.options.timeoutMs} ms and was not sent`
      : `no answer within ${pending.options.timeoutMs} ms${insteadOf(pending)}; the device may still run the call`;
  return new TendonError("device_timeout", detail, { phase, sent: phase === "device" });
}

function insteadOf({ notUnderstood }: Pending): string {
  return notUnderstood === undefined
    ? ""
    : `, but the device sent a message that was not understood (${notUnderstood})`;
}

function unanswered(): TendonError {
  const detail = `the caller did not answer the program's question; a call may take at most ${limits.callTimeoutMs.max} ms`;
  return new TendonError("device_timeout", detail, { phase: "device", sent: true });
}

function cancelled(sent: boolean): TendonError {
  return new TendonError("cancelled", "the caller stopped waiting", { sent });
}

function disconnected(reason: string, sent: boolean): TendonError {
  const detail = sent ? `${reason}; the device may have run the call` : `${reason}; the call was not sent`;
  return new TendonError("device_disconnected", detail, { sent });
}

/** [RPC-2] Ids start at random, so that replies to another connection or another client do not match ours. */
export function randomFirstId(random: number): number {
  return 1 + Math.floor(random * (largestRequestId / 2));
}
