/** The calls of the devices that a principal may see: the history, the running calls, and the trace of one call. */
import {
  type CallAsker,
  type CallHistory,
  type CallOrigin,
  type CallQuery,
  type CallTrace,
  isObject,
  type QueuedCalls,
  type RunningCalls,
} from "@tendon/protocol";
import { hasScope, type Principal, requireScope } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { valueWithoutSecrets } from "../secret-masking.ts";
import type { CallRecord, Store, StoredQueuedCall } from "../store/store.ts";
import { callPreview } from "./call-preview.ts";
import type { CallQueue } from "./call-queue.ts";
import type { CallTraces, RecentCall } from "./call-traces.ts";
import { readDetails } from "./queued-call-details.ts";
import { maskedArguments, queuedTrace, queuedView, readQueuedCursor } from "./queued-call-view.ts";
import type { RunningCalls as LocalRunningCalls, RunningCall } from "./running-calls.ts";

export interface HistoryDependencies {
  readonly clock: Clock;
  readonly nodeId: string;
  readonly calls: Store["calls"];
  readonly queue: Pick<CallQueue, "find" | "cancel">;
  readonly queuedCalls: Pick<Store["queuedCalls"], "list">;
  /** The digest of a call's arguments as JSON. */
  readonly digestOf: (text: string) => string;
  readonly traces: CallTraces;
  readonly running: LocalRunningCalls;
  /** Writes all calls that have ended to the history. */
  readonly settle: () => void;
  readonly idOf: (reference: string) => string;
  readonly visible: (principal: Principal, id: string) => boolean;
  /** Whether the firmware reserves the tool for people. Answers of such tools need the scope `call:user`. */
  readonly isUserOnly: (device: string, tool: string) => boolean;
  /** Whether this node stores the photo that the call took. */
  readonly hasPhoto: (device: string, callId: string) => boolean;
}

/** Recent and running calls that other nodes have in memory. */
interface OtherNodes {
  traces(callIds: readonly string[]): Promise<ReadonlyMap<string, RecentCall>>;
  running(): Promise<readonly RunningCall[]>;
}

const defaultQueuedPage = 100;

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
  #others: OtherNodes | undefined;

  constructor(dependencies: HistoryDependencies) {
    this.#dependencies = dependencies;
  }

  /** In a cluster, asks the nodes that made the calls. */
  shareWith(others: OtherNodes): void {
    this.#others = others;
  }

  /** Newest first. */
  async list(principal: Principal, query: CallQuery): Promise<CallHistory> {
    requireScope(principal, "read");
    const { device, since, preview: withPreview = false, ...rest } = query;
    this.#dependencies.settle();
    const page = await this.#dependencies.calls.query({
      ...rest,
      device: device === undefined ? undefined : this.#dependencies.idOf(device),
      ...(principal.devices === undefined
        ? {}
        : { visible: (id: string) => this.#dependencies.visible(principal, id) }),
      since: since === undefined ? undefined : Date.parse(since),
    });
    const recent = withPreview ? await this.#tracesOf(page.calls) : () => undefined;
    const calls = page.calls.map(
      ({ id, at, arguments: args, approval, asker, node: _node, event: _event, ...call }) => {
        const preview = callPreview(recent(id), this.#mayRead(principal, call));
        const shown = this.#askerFor(principal, asker);
        return {
          callId: id,
          at: isoTime(at),
          ...call,
          ...(isObject(args) ? { arguments: args } : {}),
          ...(approval === undefined ? {} : { approval }),
          ...(shown === undefined ? {} : { asker: shown }),
          ...(preview === undefined ? {} : { preview }),
        };
      },
    );
    return { calls, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) };
  }

  /** The calls that wait for their device, oldest first. */
  async queued(principal: Principal, query: CallQuery): Promise<QueuedCalls> {
    requireScope(principal, "read");
    const { clock, idOf, visible, queuedCalls } = this.#dependencies;
    const { device, tool, principal: by, cursor, limit = defaultQueuedPage } = query;
    const found = await queuedCalls.list({
      device: device === undefined ? undefined : idOf(device),
      tool,
      principal: by,
      after: cursor === undefined ? undefined : readQueuedCursor(cursor),
      limit: limit + 1,
    });
    const page = found.slice(0, limit);
    const now = clock.now();
    const calls = page
      .filter((call) => visible(principal, call.device) && call.expiresAt > now)
      .map((call) => {
        const asker = this.#askerFor(principal, readDetails(call.details).origin?.asker);
        return { ...queuedView(call), ...(asker === undefined ? {} : { asker }) };
      });
    const last = page.at(-1);
    return { calls, ...(found.length > limit && last !== undefined ? { nextCursor: String(last.seq) } : {}) };
  }

  /** Cancels a call that waits for its device. */
  async cancel(principal: Principal, callId: string): Promise<CallTrace> {
    const call = await this.#dependencies.queue.find(callId);
    if (call !== undefined && this.#dependencies.visible(principal, call.device))
      await this.#dependencies.queue.cancel(principal, call);
    const trace = await this.trace(principal, callId);
    if (trace.outcome === "cancelled" && call !== undefined) return trace;
    const detail = "only a queued call can be cancelled, and this one was never queued";
    throw new TendonError("conflict", detail, { state: trace.state });
  }

  /** Oldest first. */
  async running(principal: Principal): Promise<RunningCalls> {
    requireScope(principal, "read");
    const all = [...this.#dependencies.running.list(), ...((await this.#others?.running()) ?? [])];
    const now = this.#dependencies.clock.now();
    const calls = all
      .filter(({ device }) => this.#dependencies.visible(principal, device))
      .sort((one, other) => other.elapsedMs - one.elapsedMs)
      .map(({ arguments: args, origin, ...call }) => {
        const preview = callPreview({ arguments: args, detail: undefined, unsent: false }, false);
        return {
          ...call,
          state: "running" as const,
          askedAt: isoTime(now - call.elapsedMs),
          origin: this.#originFor(principal, origin),
          ...(preview === undefined ? {} : { preview }),
        };
      });
    return { calls };
  }

  /** Fields that only `CallTraces` keeps are null for older calls. */
  async trace(principal: Principal, callId: string): Promise<CallTrace> {
    requireScope(principal, "read");
    this.#dependencies.settle();
    const queued = await this.#dependencies.queue.find(callId);
    if (queued !== undefined && this.#dependencies.visible(principal, queued.device))
      return await this.#queuedTrace(principal, queued);
    const running = await this.#findRunning(callId);
    const found = running ?? (await this.#dependencies.calls.find(callId));
    const hidden = principal.devices !== undefined && found !== undefined;
    if (found === undefined || (hidden && !this.#dependencies.visible(principal, found.device)))
      throw new TendonError("not_found", "no call has this id");
    return running === undefined
      ? await this.#finishedTrace(principal, found as CallRecord)
      : this.#runningTrace(principal, running);
  }

  async #queuedTrace(principal: Principal, call: StoredQueuedCall): Promise<CallTrace> {
    const running = call.state === "running" ? await this.#findRunning(call.id) : undefined;
    const mayRead = this.#mayRead(principal, call);
    const trace = queuedTrace(call, this.#dependencies.clock.now(), running, mayRead);
    const recent = trace.state === "finished" ? (await this.#tracesOf([]))(call.id) : undefined;
    const { arguments: args, origin } = readDetails(call.details);
    return {
      ...trace,
      argumentDigest: this.#dependencies.digestOf(JSON.stringify(args)),
      origin: this.#originFor(principal, origin),
      picture: this.#dependencies.hasPhoto(call.device, call.id),
      late: recent?.late ?? null,
    };
  }

  async #findRunning(callId: string): Promise<RunningCall | undefined> {
    const here = this.#dependencies.running.find(callId);
    return here ?? (await this.#others?.running())?.find((call) => call.callId === callId);
  }

  #runningTrace(principal: Principal, call: RunningCall): CallTrace {
    const { arguments: text, elapsedMs, origin, ...rest } = call;
    return {
      ...rest,
      state: "running",
      at: null,
      outcome: null,
      queuedMs: 0,
      durationMs: elapsedMs,
      argumentDigest: "",
      askedAt: isoTime(this.#dependencies.clock.now() - elapsedMs),
      expiresAt: null,
      startedAt: null,
      allowedAt: null,
      sentAt: null,
      arguments: maskedArguments(text === "" ? undefined : JSON.parse(text)),
      problems: null,
      answer: null,
      picture: false,
      origin: this.#originFor(principal, origin),
      detail: null,
      approval: null,
      late: null,
    };
  }

  async #finishedTrace(principal: Principal, found: CallRecord): Promise<CallTrace> {
    const { id, at, arguments: stored, approval, asker, node: _node, event: _event, ...call } = found;
    const recent = (await this.#tracesOf([found]))(id);
    const askedAt = at - call.durationMs;
    const unsent = neverSent.has(call.outcome) || recent?.unsent === true;
    const args: unknown = recent?.arguments === undefined ? stored : JSON.parse(recent.arguments);
    const answer = this.#mayRead(principal, call) ? recent?.answer?.result : undefined;
    return {
      ...call,
      callId: id,
      state: "finished",
      phase: null,
      at: isoTime(at),
      askedAt: isoTime(askedAt),
      expiresAt: null,
      startedAt: null,
      allowedAt: recent?.allowedMs === undefined ? null : isoTime(askedAt + recent.allowedMs),
      // A call to another node is sent there first, and waits in the queue then.
      sentAt: unsent
        ? null
        : isoTime(askedAt + Math.max(recent?.sentMs ?? 0, (recent?.allowedMs ?? 0) + call.queuedMs)),
      arguments: maskedArguments(args),
      problems: recent?.problems === undefined ? null : [...recent.problems],
      // Safe: masking an answer returns an answer.
      answer: answer === undefined ? null : (valueWithoutSecrets(answer) as CallTrace["answer"]),
      picture: this.#mayHavePhoto(found, recent),
      origin: this.#originFor(
        principal,
        // Only an endpoint has an asker.
        recent?.origin ?? (asker === undefined ? undefined : { via: "endpoint", asker }),
      ),
      detail: recent?.detail ?? null,
      approval: approval ?? null,
      late: recent?.late ?? null,
    };
  }

  /** In a cluster, the node that holds the device has the photo, so only a request for it tells. */
  #mayHavePhoto({ device, id }: CallRecord, recent: RecentCall | undefined): boolean {
    if (this.#dependencies.hasPhoto(device, id)) return true;
    return (
      this.#others !== undefined &&
      recent?.answer?.result.content.some(({ type }) => type === "image") === true
    );
  }

  /** The answer of a user-only tool is for those who may call it. */
  #mayRead(principal: Principal, { device, tool }: { readonly device: string; readonly tool: string }) {
    return hasScope(principal, "call:user") || !this.#dependencies.isUserOnly(device, tool);
  }

  /** The network address of a caller is for administrators. */
  #originFor(principal: Principal, origin: CallOrigin | undefined): CallOrigin | null {
    if (origin === undefined) return null;
    const { address, asker, ...rest } = origin;
    const shown = this.#askerFor(principal, asker);
    return {
      ...rest,
      ...(address === undefined || !hasScope(principal, "admin") ? {} : { address }),
      ...(shown === undefined ? {} : { asker: shown }),
    };
  }

  /** A board is named only to those who may see it. */
  #askerFor(principal: Principal, asker: CallAsker | undefined): CallAsker | undefined {
    if (asker?.device === undefined || principal.devices === undefined) return asker;
    return this.#dependencies.visible(principal, asker.device) ? asker : undefined;
  }

  async #tracesOf(calls: readonly CallRecord[]): Promise<(callId: string) => RecentCall | undefined> {
    const { traces, nodeId } = this.#dependencies;
    const elsewhere = calls.flatMap(({ id, node }) => (node === nodeId ? [] : [id]));
    const found = elsewhere.length === 0 ? undefined : await this.#others?.traces(elsewhere);
    return (callId) => found?.get(callId) ?? traces.of(callId);
  }
}
