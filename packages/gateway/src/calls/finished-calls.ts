/**
 * Records the calls that have ended in the events, the metrics and the history, all together once per turn of the
 * event loop. The callers have their replies by then. Recording calls one by one costs twice as much.
 */
import { createHmac } from "node:crypto";
import { type ArgumentProblem, type JsonObject, limits, upgradeTool } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Events, FinishedCall } from "../events/events.ts";
import type { CallRecord, StoredQueuedCall } from "../store/store.ts";
import type { CallContext } from "./call-context.ts";
import { type CallTraces, keptArguments } from "./call-traces.ts";
import { keptAnswer } from "./kept-answer.ts";
import { readDetails, readEnding } from "./queued-call-details.ts";

export interface FinishedCallsSettings {
  readonly clock: Clock;
  readonly events: Events;
  readonly history: { append(call: CallRecord): void };
  readonly traces: CallTraces;
  /** The node's id in the history. */
  readonly nodeId: string;
  /** Whether the history stores the arguments, not only their digest. */
  readonly keepArguments: boolean;
  /** The key of the digests: without it, short arguments could be guessed from them. The same on all nodes. */
  readonly digestKey: Buffer;
}

export interface Finished extends Omit<FinishedCall, "callId"> {
  readonly context: CallContext;
  readonly args: JsonObject;
  /** The detail of the error, or the result of a firmware upgrade. */
  readonly detail: string | undefined;
  /** The error reported that nothing was sent to the device. */
  readonly unsent: boolean;
  /** The result; `undefined` if the call failed. */
  readonly answer: unknown;
  /** The arguments that the gateway rejected. */
  readonly problems: unknown;
}

/** The end of a queued call, which the store already has. */
export interface EndedCall {
  readonly call: StoredQueuedCall;
  readonly at: number;
  readonly outcome: string;
  readonly ending: JsonObject;
}

export class FinishedCalls {
  readonly #settings: FinishedCallsSettings;
  readonly #recordAll = () => this.#recordPending();
  #pending: Finished[] = [];
  #lastText: string | undefined;
  #lastDigest = "";

  constructor(settings: FinishedCallsSettings) {
    this.#settings = settings;
  }

  add(call: Finished): void {
    if (this.#pending.push(call) === 1) this.#settings.events.deferReport(this.#recordAll);
  }

  /** At once, because queued calls end rarely and the store waits until the history has them. */
  addQueued({ call, at, outcome, ending }: EndedCall): void {
    const { events, history, nodeId, keepArguments } = this.#settings;
    const { id, device, tool, principalName: principal } = call;
    const { arguments: args, approval, origin } = readDetails(call.details);
    const { detail, queuedMs = 0, durationMs = 0 } = readEnding(ending);
    const text = JSON.stringify(args);
    const ended = { callId: id, device, tool, principal, outcome, queuedMs, durationMs };
    history.append({
      id,
      at,
      device,
      tool,
      principal,
      outcome,
      queuedMs,
      durationMs,
      argumentDigest: this.digestOf(text),
      arguments: keepArguments && text.length <= limits.historyArguments.max ? args : undefined,
      approval,
      node: nodeId,
      event: events.callFinished(ended, at, { queued: true, ...(detail === undefined ? {} : { detail }) }),
      asker: origin?.asker,
    });
  }

  #recordPending(): void {
    const { clock, events } = this.#settings;
    const calls = this.#pending;
    this.#pending = [];
    const at = clock.now();
    for (const call of calls) {
      try {
        this.#recordOne(call, at);
      } catch (error) {
        // An error in a listener must not stop the remaining calls from being recorded.
        events.callReportFailed(error);
      }
    }
  }

  #recordOne(call: Finished, at: number): void {
    const { events, history, traces, nodeId, keepArguments } = this.#settings;
    const { context, device, tool, principal, outcome, queuedMs, durationMs } = call;
    const { callId, argumentText } = context;
    const { allowedMs, sentMs, requested } = context;
    const { detail, unsent, problems } = call;
    traces.add(callId, {
      device,
      arguments: keptArguments(argumentText),
      detail,
      unsent,
      // Safe: only `refuseArguments` sets it.
      problems: problems as readonly ArgumentProblem[] | undefined,
      origin: requested.origin,
      allowedMs,
      sentMs,
      answer: call.answer === undefined ? undefined : keptAnswer(call.answer),
      late: undefined,
    });
    if (requested.origin?.via === "endpoint") events.endpointCallFinished(outcome);
    // The fields are listed twice because spreading one object into the other is slower.
    const event = events.callFinished(
      { callId, device, tool, principal, outcome, queuedMs, durationMs },
      at,
      tool === upgradeTool && call.detail !== undefined ? { detail: call.detail } : undefined,
    );
    history.append({
      id: callId,
      at,
      device,
      tool,
      principal,
      outcome,
      queuedMs,
      durationMs,
      argumentDigest: this.digestOf(argumentText),
      // The text is empty if the arguments are too deep to serialize.
      arguments:
        keepArguments && argumentText !== "" && argumentText.length <= limits.historyArguments.max
          ? call.args
          : undefined,
      approval: context.approval,
      node: nodeId,
      event,
      asker: requested.origin?.asker,
    });
  }

  /** Consecutive calls often have the same arguments, for example a status poll of every device. */
  digestOf(text: string): string {
    if (text !== this.#lastText) {
      this.#lastText = text;
      this.#lastDigest = createHmac("sha256", this.#settings.digestKey).update(text).digest("hex");
    }
    return this.#lastDigest;
  }
}
