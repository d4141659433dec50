/**
 * Details of recent calls that the history does not store: their arguments, answers and origin, the detail of their
 * error, and late answers. They are in memory only. Their number and the size of the answers are bounded.
 */
import type { ArgumentProblem, CallAsker, CallOrigin, GatewayEvent } from "@tendon/protocol";
import { limits } from "@tendon/protocol";
import type { KeptAnswer } from "./kept-answer.ts";

export interface RecentCall {
  /** `undefined` for a call of another node. */
  readonly device?: string | undefined;
  /** As JSON; `undefined` if they were too long. */
  readonly arguments: string | undefined;
  /** The detail of the error. */
  readonly detail: string | undefined;
  /** The error reported that nothing was sent to the device. */
  readonly unsent: boolean;
  /** The arguments that the gateway rejected. */
  readonly problems?: readonly ArgumentProblem[] | undefined;
  origin?: CallOrigin | undefined;
  /** Milliseconds from the request until the call was allowed, and until it was sent. */
  readonly allowedMs?: number | undefined;
  readonly sentMs?: number | undefined;
  /** `undefined` if there was none, or if newer answers took its place. */
  answer?: KeptAnswer | undefined;
  late?: { readonly at: string; readonly lateMs: number; readonly failed: boolean } | undefined;
}

export class CallTraces {
  readonly #traces = new Map<string, RecentCall>();
  /** The call ids in a ring buffer, because finding the oldest key of a map is slow. */
  readonly #callIds: string[] = [];
  #next = 0;
  /** The place of the oldest answer that is kept. Answers are dropped in the order of the ring. */
  #oldestAnswer = 0;
  #answerSize = 0;

  add(callId: string, trace: RecentCall): void {
    this.#traces.set(callId, trace);
    const place = this.#next;
    const oldest = this.#callIds[place];
    if (oldest !== undefined) {
      if (place === this.#oldestAnswer) this.#dropOldestAnswer();
      this.#traces.delete(oldest);
    }
    this.#callIds[place] = callId;
    this.#next = (place + 1) % limits.callTracesKept.max;
    if (trace.answer === undefined) return;
    this.#answerSize += trace.answer.size;
    while (this.#answerSize > limits.callTraceAnswers.max) this.#dropOldestAnswer();
  }

  #dropOldestAnswer(): void {
    const trace = this.#traces.get(this.#callIds[this.#oldestAnswer] ?? "");
    this.#oldestAnswer = (this.#oldestAnswer + 1) % limits.callTracesKept.max;
    if (trace?.answer === undefined) return;
    this.#answerSize -= trace.answer.size;
    trace.answer = undefined;
  }

  /** Adds late answers to the traces, and the error details of calls that ran on other nodes. */
  apply({ type, at, data }: GatewayEvent): void {
    const { detail } = data;
    const finishedWithDetail = type === "call.finished" && typeof detail === "string";
    if (!finishedWithDetail && type !== "call.late") return;
    const callId = String(data["callId"]);
    const trace = this.#traces.get(callId);
    if (finishedWithDetail && trace === undefined)
      this.add(callId, { arguments: undefined, detail, unsent: false });
    if (!finishedWithDetail && trace !== undefined)
      trace.late = { at, lateMs: Number(data["lateMs"]), failed: data["failed"] === true };
  }

  forgetDevice(device: string): void {
    for (const [callId, { device: of, answer }] of this.#traces) {
      if (of !== device) continue;
      this.#answerSize -= answer?.size ?? 0;
      this.#traces.delete(callId);
    }
  }

  /** Clears the askers that match. The traces stay. */
  eraseAskers(matches: (asker: CallAsker) => boolean): void {
    for (const trace of this.#traces.values()) {
      const { asker, ...rest } = trace.origin ?? {};
      if (trace.origin !== undefined && asker !== undefined && matches(asker))
        trace.origin = { ...rest, via: trace.origin.via };
    }
  }

  of(callId: string): RecentCall | undefined {
    return this.#traces.get(callId);
  }
}

/** The arguments of a trace; `undefined` if they are too long. */
export function keptArguments(text: string): string | undefined {
  return text.length <= limits.callTraceArguments.max ? text : undefined;
}
