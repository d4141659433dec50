/** What happened to calls. The other events are in `Events`. */
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import { EventStream } from "./event-stream.ts";
import type { FinishedCall } from "./event-types.ts";
import type { Metrics } from "./metrics.ts";

export class CallEvents extends EventStream {
  readonly #log: Logger;
  readonly #metrics: Metrics;

  constructor(clock: Clock, log: Logger, metrics: Metrics) {
    super(clock, (error) => log.warn({ err: error }, "event numbers could not be reserved"));
    this.#log = log;
    this.#metrics = metrics;
  }

  /** The device is away, and the call waits for it. */
  callQueued(
    device: string,
    data: {
      readonly callId: string;
      readonly tool: string;
      readonly principal: string;
      readonly expiresAt: string;
    },
  ): void {
    this.#metrics.callsQueued.inc();
    this.#log.debug({ device, ...data }, "call queued");
    this.publish("call.queued", device, data);
  }

  /** The number of queued calls on all nodes that have not ended. */
  callsWaiting(count: number): void {
    this.#metrics.callsWaiting.set(count);
  }

  queueFault(detail: string): void {
    this.#log.error({ detail }, "queued calls");
  }

  /** Returns the number of the event, which the history stores with the call. `more` has further fields. */
  callFinished(
    call: FinishedCall,
    at: number,
    more?: { readonly detail?: string | undefined; readonly queued?: true },
  ): number {
    // Field by field, because this runs for every call and object rest is slow.
    const { device, callId, tool, principal, outcome, queuedMs, durationMs } = call;
    const plain = { callId, tool, principal, outcome, queuedMs, durationMs };
    const data = more === undefined ? plain : { ...plain, ...more };
    this.#metrics.calls.inc({ outcome });
    this.#metrics.callSeconds.observe(durationMs / 1000);
    if (this.#log.isLevelEnabled("debug")) this.#log.debug({ device, ...data }, "call finished");
    return this.add("call.finished", at, device, data);
  }

  /** One that a voice agent made over an MCP endpoint. */
  endpointCallFinished(outcome: string): void {
    this.#metrics.endpointCalls.inc({ outcome });
  }

  callLate(device: string, data: { callId: string; tool: string; lateMs: number; failed: boolean }): void {
    this.#metrics.lateReplies.inc();
    this.#log.info({ device, ...data }, "a device answered a call that had already ended");
    this.publish("call.late", device, data);
  }

  callReportFailed(error: unknown): void {
    this.#log.error({ err: error }, "the end of a call could not be reported");
  }
}
