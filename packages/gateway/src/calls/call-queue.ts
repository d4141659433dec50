/**
 * Calls for devices that are away [QUE-1…8]. A queued call is one row of the store from first to last. This part adds,
 * cancels and expires them, and reports their ends in events and history. `QueueRunner` runs them.
 */
import { limits, type QueuedReply } from "@tendon/protocol";
import { hasScope, type Principal } from "../access/access.ts";
import { type Clock, isoTime, type Timer } from "../clock.ts";
import { messageOf, TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { NewQueuedCall, QueuedCallEnd, Store, StoredQueuedCall } from "../store/store.ts";
import { WriteGroups } from "../write-groups.ts";
import type { EndedCall } from "./finished-calls.ts";
import { type EndingDetails, endingOf } from "./queued-call-details.ts";
import { WaitingCalls } from "./waiting-calls.ts";

export interface CallQueueDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Pick<Store, "queuedCalls" | "calls" | "flush" | "onAvailable">;
  /** This run of the gateway. */
  readonly run: string;
  readonly isAlive: (run: string) => boolean;
  /** Whether other nodes use the same store. */
  readonly isShared: boolean;
  /** Sets the number of calls that wait for a device. */
  readonly setWaiting: (device: string, count: number) => void;
  /** Writes the end of a call to the events and the history. */
  readonly recordEnd: (call: EndedCall) => void;
}

const defaultExpiryMs = 24 * 60 * 60_000;
const sweepMs = 1_000;
/** How often the counts are read again, which are otherwise kept by events. */
const refreshEverySweeps = 30;
/** How often the calls of nodes that have failed are looked for. */
const settleEverySweeps = 5;
const expiredAtOnce = 500;
/** Between two attempts to write an end while the database is unavailable. */
const retryMs = 1_000;
/** Time that the history needs to write its buffer. */
const recordedAfterMs = 2_000;

const bounds = { device: limits.waitingCallsPerDevice.max, principal: limits.waitingCallsPerToken.max };

export class CallQueue {
  readonly waiting: WaitingCalls;
  readonly #dependencies: CallQueueDependencies;
  readonly #additions: WriteGroups<NewQueuedCall, Awaited<ReturnType<Store["queuedCalls"]["add"]>>[number]>;
  readonly #ends: WriteGroups<QueuedCallEnd, boolean>;
  readonly #timer: Timer;
  /** Calls whose end was reported to the history, which may not have written it yet. */
  #unrecorded: { readonly seq: number; readonly at: number }[] = [];
  #sweeps = 0;
  /** The database was away, and events may have been missed. */
  #mustRefresh = false;
  #sweeping: Promise<void> | undefined;
  #stopped = false;

  constructor(dependencies: CallQueueDependencies) {
    this.#dependencies = dependencies;
    const { clock, store, run } = dependencies;
    this.waiting = new WaitingCalls(dependencies.setWaiting);
    this.#additions = WriteGroups.of((calls) =>
      store.queuedCalls.add(calls, this.#mayBeFull(calls) ? bounds : undefined, run),
    );
    this.#ends = WriteGroups.of(async (ends) => {
      const ended = await store.queuedCalls.end(ends);
      return ends.map(({ seq }) => ended.has(seq));
    });
    dependencies.events.subscribe((event) => this.waiting.apply(event));
    this.#timer = clock.every(sweepMs, () => this.#sweepAgain());
    store.onAvailable(() => this.#sweepAgain(true));
  }

  /** Reads what waits from earlier runs, and ends what the last run left behind if it was killed. */
  async open(): Promise<void> {
    await this.#refresh();
    // With other nodes a later sweep does it, when this node knows which of them are alive.
    if (!this.#dependencies.isShared) await this.#settleLost();
  }

  /** Gives up what waits for the database. The next run, or another node, settles it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer.cancel();
    await this.#sweeping;
  }

  /** Called when a call waits for a device, also if another node has added it. */
  onAdded(listener: (device: string) => void): void {
    this.waiting.onAdded(listener);
  }

  /** [QUE-6] Throws `queue_full`. Before an approval is consumed, so that a full queue does not waste it. */
  async requireRoom(principal: string, device: string): Promise<void> {
    this.#requireRoomInAll();
    const { queuedCalls } = this.#dependencies.store;
    const full = await queuedCalls.isFull({ principal, device }, bounds);
    if (full !== undefined) throw fullQueue(full);
  }

  #requireRoomInAll(): void {
    if (this.waiting.total >= limits.waitingCalls.max)
      throw new TendonError("queue_full", `${limits.waitingCalls.max} calls already wait for their devices`);
  }

  async add(
    call: Omit<NewQueuedCall, "queuedAt" | "expiresAt">,
    expiresInMs = defaultExpiryMs,
  ): Promise<QueuedReply> {
    const { clock, events } = this.#dependencies;
    this.#requireRoomInAll();
    const queuedAt = clock.now();
    const stored = { ...call, queuedAt, expiresAt: queuedAt + expiresInMs };
    const added = await this.#additions.add(stored);
    if (!added.added) throw fullQueue(added.full);
    const expiresAt = isoTime(stored.expiresAt);
    const { id: callId, device, tool, principalName: principal } = call;
    for (const older of added.superseded) this.#report(older);
    events.callQueued(device, { callId, tool, principal, expiresAt });
    return { callId, device, tool, state: "queued", expiresAt };
  }

  find(callId: string): Promise<StoredQueuedCall | undefined> {
    return this.#dependencies.store.queuedCalls.find(callId);
  }

  /** [QUE-3] Cancels a waiting call: its asker, or an administrator. */
  async cancel(principal: Principal, call: StoredQueuedCall): Promise<void> {
    const own = call.principal === principal.id && hasScope(principal, "call");
    if (!own && !hasScope(principal, "admin")) {
      const detail = "only the token that asked for this call, or one with the scope `admin`, can cancel it";
      throw new TendonError("forbidden", detail);
    }
    const detail = own ? "the caller cancelled it" : `${principal.name} cancelled it`;
    if (await this.end(call, "queued", "cancelled", { detail })) return;
    const now = await this.find(call.id);
    const state = now?.state === "running" ? "running" : "finished";
    throw new TendonError("conflict", `the call is no longer queued: it is ${state}`, { state });
  }

  /** Cancels all waiting calls of a device that was revoked or deleted. */
  async cancelAll(device: string, detail: string): Promise<void> {
    if (!this.waiting.has(device)) return;
    const calls = await this.#dependencies.store.queuedCalls.list({ device, limit: bounds.device * 2 });
    for (const call of calls) await this.end(call, "queued", "cancelled", { detail });
  }

  /**
   * Ends a call durably, then reports it. Waits for a database that is unavailable. Returns false if something else has
   * ended it, or if the gateway stops.
   */
  async end(
    call: StoredQueuedCall,
    from: QueuedCallEnd["from"],
    outcome: string,
    details: EndingDetails,
  ): Promise<boolean> {
    const { clock, run } = this.#dependencies;
    const ended = { seq: call.seq, from, run, finishedAt: clock.now(), outcome, ending: endingOf(details) };
    for (;;) {
      try {
        if (!(await this.#ends.add(ended))) return false;
        this.#report({ ...call, ...ended });
        return true;
      } catch (error) {
        if (!isOutage(error) || this.#stopped) throw error;
        await new Promise<void>((resolve) => {
          clock.after(retryMs, resolve);
        });
      }
    }
  }

  /** Whether the store has to count. Most calls come when far fewer wait than may. */
  #mayBeFull(calls: readonly NewQueuedCall[]): boolean {
    return calls.some(({ device, principalName }) => {
      const waiting = this.waiting.counts(device, principalName);
      return (
        waiting.device + calls.length > bounds.device / 2 ||
        waiting.principal + calls.length > bounds.principal / 2
      );
    });
  }

  /** Reports a call that has ended in the store. */
  #report(call: StoredQueuedCall): void {
    const { recordEnd, clock } = this.#dependencies;
    const { finishedAt = clock.now(), outcome = "internal", ending = {} } = call;
    recordEnd({ call, at: finishedAt, outcome, ending });
    this.#unrecorded.push({ seq: call.seq, at: clock.monotonic() });
  }

  #sweepAgain(refresh = false): void {
    this.#mustRefresh ||= refresh;
    this.#sweeping ??= this.#sweep()
      .catch((error: unknown) => {
        if (!isOutage(error)) this.#dependencies.events.queueFault(messageOf(error));
      })
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  async #sweep(): Promise<void> {
    this.#sweeps += 1;
    const { isShared } = this.#dependencies;
    const refresh = this.#mustRefresh;
    if (refresh || (isShared && this.#sweeps % refreshEverySweeps === 0)) await this.#refresh();
    if (refresh || (isShared && this.#sweeps % settleEverySweeps === 0)) await this.#settleLost();
    if (refresh) this.#mustRefresh = false;
    this.#dependencies.events.callsWaiting(this.waiting.total);
    if (this.waiting.total > 0) await this.#expire();
    await this.#markRecorded();
  }

  async #refresh(): Promise<void> {
    this.waiting.replace(await this.#dependencies.store.queuedCalls.unfinished());
  }

  async #expire(): Promise<void> {
    const { store, clock } = this.#dependencies;
    for (const call of await store.queuedCalls.expired(clock.now(), expiredAtOnce))
      await this.end(call, "queued", "expired", { detail: "the device was not online before it expired" });
  }

  /** [QUE-5] Ends calls that ran on a node that has failed, and reports ends that such a node did not record. */
  async #settleLost(): Promise<void> {
    const { store, clock, run, isAlive } = this.#dependencies;
    for (const call of await store.queuedCalls.inState("running", expiredAtOnce)) {
      if (call.run === undefined || isAlive(call.run)) continue;
      const detail = "the gateway stopped while the call ran; the device may have run it";
      const ending = endingOf({ detail, sent: true });
      const ended = { run, finishedAt: clock.now(), outcome: "device_disconnected", ending };
      if (await store.queuedCalls.endLost(call, ended)) this.#report({ ...call, ...ended });
    }
    for (const call of await store.queuedCalls.inState("ended", expiredAtOnce)) {
      if (call.run === undefined || isAlive(call.run)) continue;
      if (!(await store.queuedCalls.adopt(call, run))) continue;
      if (await store.calls.has(call.id, call.finishedAt ?? 0)) await store.queuedCalls.recorded([call.seq]);
      else this.#report(call);
    }
  }

  async #markRecorded(): Promise<void> {
    const { store, clock } = this.#dependencies;
    const before = clock.monotonic() - recordedAfterMs;
    const due = this.#unrecorded.filter(({ at }) => at <= before);
    if (due.length === 0) return;
    await store.flush();
    await store.queuedCalls.recorded(due.map(({ seq }) => seq));
    this.#unrecorded = this.#unrecorded.filter(({ at }) => at > before);
  }
}

export function isOutage(error: unknown): boolean {
  return error instanceof TendonError && error.code === "storage_unavailable";
}

function fullQueue(full: "device" | "principal"): TendonError {
  const detail =
    full === "device"
      ? `${bounds.device} calls already wait for this device`
      : `${bounds.principal} calls of this token already wait for their devices`;
  return new TendonError("queue_full", detail, { sent: false, full: full === "device" ? "device" : "token" });
}
