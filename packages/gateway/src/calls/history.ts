/** What was called, for those who may know of the devices: the list, and one call from being asked to its end. */
import { type CallHistory, type CallQuery, type CallStory, isObject } from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import { isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { CallTraces } from "./call-traces.ts";

export interface HistoryNeeds {
  readonly calls: Store["calls"];
  readonly traces: CallTraces;
  /** Whatever has ended is in the history after this. */
  readonly settle: () => void;
  readonly idOf: (reference: string) => string;
  readonly visible: (principal: Principal, id: string) => boolean;
}

/** Refused before anything went to the device. */
const neverSent: ReadonlySet<string> = new Set([
  "forbidden",
  "approval_required",
  "tool_unknown",
  "arguments_invalid",
  "device_offline",
  "queue_full",
  "rate_limited",
  "payload_too_large",
]);

export class History {
  readonly #needs: HistoryNeeds;

  constructor(needs: HistoryNeeds) {
    this.#needs = needs;
  }

  /** Newest first. */
  async list(principal: Principal, query: CallQuery): Promise<CallHistory> {
    requireScope(principal, "read");
    const { device, since, ...rest } = query;
    this.#needs.settle();
    const page = await this.#needs.calls.query({
      ...rest,
      device: device === undefined ? undefined : this.#needs.idOf(device),
      ...(principal.devices === undefined
        ? {}
        : { visible: (id: string) => this.#needs.visible(principal, id) }),
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

  /** As far as it is still known: what only memory keeps is null once it has been forgotten. */
  async story(principal: Principal, callId: string): Promise<CallStory> {
    requireScope(principal, "read");
    this.#needs.settle();
    const found = await this.#needs.calls.find(callId);
    const hidden = principal.devices !== undefined && found !== undefined;
    if (found === undefined || (hidden && !this.#needs.visible(principal, found.device)))
      throw new TendonError("not_found", "no call has this id, or it is too long ago");
    const { id, at, arguments: kept, approval, node: _node, event: _event, ...call } = found;
    const told = this.#needs.traces.of(id);
    const askedAt = at - call.durationMs;
    const unsent = neverSent.has(call.outcome) || told?.unsent === true;
    const args: unknown = told?.arguments === undefined ? kept : JSON.parse(told.arguments);
    return {
      ...call,
      callId: id,
      at: isoTime(at),
      askedAt: isoTime(askedAt),
      sentAt: unsent ? null : isoTime(askedAt + call.queuedMs),
      arguments: isObject(args) ? args : null,
      detail: told?.detail ?? null,
      approval: approval ?? null,
      late: told?.late ?? null,
    };
  }
}
