/** The call history of the devices that a principal may see: the list, and the trace of one call. */
import { type CallHistory, type CallQuery, type CallTrace, isObject } from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import { isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { CallTraces } from "./call-traces.ts";

export interface HistoryDependencies {
  readonly calls: Store["calls"];
  readonly traces: CallTraces;
  /** Writes all calls that have ended to the history. */
  readonly settle: () => void;
  readonly idOf: (reference: string) => string;
  readonly visible: (principal: Principal, id: string) => boolean;
}

/** Outcomes of calls that ended before the gateway sent them to the device. */
const neverSent: ReadonlySet<string> = new Set([
  "forbidden",
  "approval_required",
  "tool_unknown",
  "arguments_invalid",
  "action_unknown",
  "device_offline",
  "queue_full",
  "rate_limited",
  "payload_too_large",
]);

export class History {
  readonly #dependencies: HistoryDependencies;

  constructor(dependencies: HistoryDependencies) {
    this.#dependencies = dependencies;
  }

  /** Newest first. */
  async list(principal: Principal, query: CallQuery): Promise<CallHistory> {
    requireScope(principal, "read");
    const { device, since, ...rest } = query;
    this.#dependencies.settle();
    const page = await this.#dependencies.calls.query({
      ...rest,
      device: device === undefined ? undefined : this.#dependencies.idOf(device),
      ...(principal.devices === undefined
        ? {}
        : { visible: (id: string) => this.#dependencies.visible(principal, id) }),
      since: since === undefined ? undefined : Date.parse(since),
    });
    const calls = page.calls.map(
      ({ id, at, arguments: args, approval, node: _node, event: _event, ...call }) => ({
        callId: id,
        at: isoTime(at),
        ...call,
        ...(isObject(args) ? { arguments: args } : {}),
        ...(approval === undefined ? {} : { approval }),
      }),
    );
    return { calls, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) };
  }

  /** Fields that only `CallTraces` keeps are null for older calls. */
  async trace(principal: Principal, callId: string): Promise<CallTrace> {
    requireScope(principal, "read");
    this.#dependencies.settle();
    const found = await this.#dependencies.calls.find(callId);
    const hidden = principal.devices !== undefined && found !== undefined;
    if (found === undefined || (hidden && !this.#dependencies.visible(principal, found.device)))
      throw new TendonError("not_found", "no call in the history has this id");
    const { id, at, arguments: stored, approval, node: _node, event: _event, ...call } = found;
    const recent = this.#dependencies.traces.of(id);
    const askedAt = at - call.durationMs;
    const unsent = neverSent.has(call.outcome) || recent?.unsent === true;
    const args: unknown = recent?.arguments === undefined ? stored : JSON.parse(recent.arguments);
    return {
      ...call,
      callId: id,
      at: isoTime(at),
      askedAt: isoTime(askedAt),
      sentAt: unsent ? null : isoTime(askedAt + call.queuedMs),
      arguments: isObject(args) ? args : null,
      detail: recent?.detail ?? null,
      approval: approval ?? null,
      late: recent?.late ?? null,
    };
  }
}
