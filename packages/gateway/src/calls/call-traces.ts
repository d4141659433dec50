/**
 * Details of recent calls that the history does not store: their arguments, the detail of their error, and late
 * answers. They are in memory only, and their number is bounded.
 */
import type { GatewayEvent } from "@tendon/protocol";
import { limits } from "@tendon/protocol";

export interface RecentCall {
  /** As JSON; `undefined` if they were too long. */
  readonly arguments: string | undefined;
  /** The detail of the error. */
  readonly detail: string | undefined;
  /** The error reported that nothing was sent to the device. */
  readonly unsent: boolean;
  late: { readonly at: string; readonly lateMs: number; readonly failed: boolean } | undefined;
}

export class CallTraces {
  readonly #traces = new Map<string, RecentCall>();
  /** The call ids in a ring buffer, because finding the oldest key of a map is slow. */
  readonly #callIds: string[] = [];
  #next = 0;

  add(callId: string, argumentText: string, detail: string | undefined, unsent: boolean): void {
    const short = argumentText.length <= limits.callTraceArguments.max;
    this.#set(callId, { arguments: short ? argumentText : undefined, detail, unsent, late: undefined });
  }

  #set(callId: string, trace: RecentCall): void {
    this.#traces.set(callId, trace);
    const oldest = this.#callIds[this.#next];
    if (oldest !== undefined) this.#traces.delete(oldest);
    this.#callIds[this.#next] = callId;
    this.#next = (this.#next + 1) % limits.callTracesKept.max;
  }

  /** Adds late answers to the traces, and the error details of calls that ran on other nodes. */
  apply({ type, at, data }: GatewayEvent): void {
    const { detail } = data;
    const finishedWithDetail = type === "call.finished" && typeof detail === "string";
    if (!finishedWithDetail && type !== "call.late") return;
    const callId = String(data["callId"]);
    const trace = this.#traces.get(callId);
    if (finishedWithDetail && trace === undefined)
      this.#set(callId, { arguments: undefined, detail, unsent: false, late: undefined });
    if (!finishedWithDetail && trace !== undefined)
      trace.late = { at, lateMs: Number(data["lateMs"]), failed: data["failed"] === true };
  }

  of(callId: string): RecentCall | undefined {
    return this.#traces.get(callId);
  }
}
