/**
 * Delivers the events of one webhook, on the node that owns it. The events of one device go one after the other; those of
 * different devices go in parallel. An event that fails holds back its own device only, unless the receiver is down:
 * then the whole webhook pauses, and one event probes it.
 */
import type { Clock, Timer } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import type {
  DeliveryAttempt,
  ReceiverState,
  Store,
  StoredDelivery,
  StoredWebhook,
} from "../../store/store.ts";
import { gapBody, makeMessageId } from "./message.ts";
import { noSecret, type Sender, type SendResult } from "./sender.ts";
import { signedHeaders } from "./signature.ts";

export interface LoopDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Pick<Store, "webhooks" | "webhookDeliveries">;
  readonly sender: Sender;
  readonly maxPending: number;
  readonly random: () => number;
  /** Called when the gateway has disabled it, or another node has taken it over. */
  readonly onEnd: (id: string) => void;
  /** Called when the number of pending events or the state of the receiver has changed. */
  readonly onProgress: () => void;
}

/** What may change while the loop runs. */
export interface LoopSettings {
  readonly name: string;
  readonly url: string;
  readonly types: StoredWebhook["types"];
  readonly devices: StoredWebhook["devices"];
  /** The secrets that sign at this time. */
  readonly secretsAt: (now: number) => readonly string[];
}

interface Sent {
  readonly delivery: StoredDelivery;
  readonly at: number;
  readonly result: SendResult;
}

const dayMs = 24 * 60 * 60_000;
const firstPauseMs = 1_000;
const longestPauseMs = 5 * 60_000;
const lookAhead = 64;
const parallel = 8;
/** A round starts no more deliveries after this time, so that its results are stored. */
const roundMs = 5_000;
const storeRetryMs = 1_000;
const trimEveryMs = 60_000;

export class DeliveryLoop {
  readonly id: string;
  readonly epoch: number;
  readonly #dependencies: LoopDependencies;
  readonly #abort = new AbortController();
  /** Devices whose oldest event was rejected, and when it is sent again. */
  readonly #held = new Map<string, number>();
  settings: LoopSettings;
  #receiver: ReceiverState;
  #pending = 0;
  #trimmedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #again = false;
  #timer: Timer | undefined;

  constructor(
    dependencies: LoopDependencies,
    webhook: Pick<StoredWebhook, "id" | "epoch"> & ReceiverState,
    settings: LoopSettings,
  ) {
    this.#dependencies = dependencies;
    this.id = webhook.id;
    this.epoch = webhook.epoch;
    this.settings = settings;
    const { failures, failingSince, nextAttemptAt, deliveredAt, failedAt, failedStatus, failedError } =
      webhook;
    this.#receiver = {
      failures,
      failingSince,
      nextAttemptAt,
      deliveredAt,
      failedAt,
      failedStatus,
      failedError,
    };
  }

  get failing(): boolean {
    return this.#receiver.failures > 0;
  }

  get pending(): number {
    return this.#pending;
  }

  /** Counts the stored events, and starts. */
  async start(): Promise<void> {
    this.#pending = await this.#dependencies.store.webhookDeliveries.countPending(this.id);
    this.wake();
  }

  /** More events are pending. */
  recorded(count: number): void {
    this.#pending += count;
    this.wake();
  }

  /** Starts afresh after a change by a person: at once, whatever failed before. */
  restart(): void {
    this.#held.clear();
    this.#receiver = { ...this.#receiver, nextAttemptAt: undefined };
    this.wake();
  }

  wake(): void {
    if (this.#abort.signal.aborted) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#again) {
        this.#again = false;
        this.wake();
      }
    });
  }

  /** Ends the requests that run. Their events stay pending. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#timer?.cancel();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#abort.signal.aborted) {
        this.#again = false;
        await this.#trim();
        const waitMs = await this.#round();
        if (waitMs === 0) continue;
        if (waitMs !== undefined) this.#sleep(waitMs);
        return;
      }
    } catch {
      // The store reports its problems itself. The events stay where they are until it answers.
      this.#sleep(storeRetryMs);
    }
  }

  #sleep(ms: number): void {
    if (this.#abort.signal.aborted) return;
    this.#timer?.cancel();
    this.#timer = this.#dependencies.clock.after(ms, () => this.wake());
  }

  /** Sends some events. Returns the time until the next round; `undefined` if nothing is pending. */
  async #round(): Promise<number | undefined> {
    const { clock, store } = this.#dependencies;
    const now = clock.now();
    const pauseMs = (this.#receiver.nextAttemptAt ?? now) - now;
    if (pauseMs > 0) return Math.min(pauseMs, trimEveryMs);
    for (const [device, until] of this.#held) if (until <= now) this.#held.delete(device);
    const without = [...this.#held.keys()];
    const deliveries = await store.webhookDeliveries.pending(this.id, lookAhead, without);
    if (deliveries.length === 0) {
      const next = Math.min(...this.#held.values());
      return Number.isFinite(next) ? Math.min(Math.max(next - now, 1), trimEveryMs) : undefined;
    }
    const sent = await this.#sendAll(lanesOf(deliveries, this.failing));
    if (sent.length === 0) return 0;
    return await this.#finish(sent);
  }

  async #sendAll(lanes: readonly (readonly StoredDelivery[])[]): Promise<Sent[]> {
    const { clock } = this.#dependencies;
    const end = clock.monotonic() + roundMs;
    const waiting = [...lanes];
    const sent: Sent[] = [];
    let failed = false;
    const work = async () => {
      for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
        for (const delivery of lane) {
          if (failed || clock.monotonic() >= end) return;
          const at = clock.now();
          const result = await this.#send(delivery, at);
          if (result === undefined) return;
          sent.push({ delivery, at, result });
          if (result.ok) continue;
          // A receiver that is down gets no more requests in this round.
          if (isDown(result)) failed = true;
          break;
        }
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return sent;
  }

  async #send({ id, body }: StoredDelivery, at: number): Promise<SendResult | undefined> {
    const { url, secretsAt } = this.settings;
    const secrets = secretsAt(at);
    if (secrets.length === 0) return noSecret;
    const headers = signedHeaders({ id, at, body }, secrets);
    return await this.#dependencies.sender.send(url, headers, body, this.#abort.signal);
  }

  /** Stores the results. Returns the time until the next round. */
  async #finish(sent: readonly Sent[]): Promise<number | undefined> {
    const { clock, events, store } = this.#dependencies;
    const attempts = sent.map(attemptOf);
    const delivered = sent.filter(({ result }) => result.ok);
    const failures = sent.filter(({ result }) => !result.ok);
    for (const { result } of sent) events.webhookAttempt(result.ok);
    const now = clock.now();
    const wasFailing = this.failing;
    this.#receiver = this.#nextState(now, delivered.at(-1), failures);
    if (this.failing && !wasFailing) {
      const first = failures[0]?.result;
      events.webhookFailing(this.id, { status: first?.status, error: first?.error });
    }
    for (const { delivery, result } of failures)
      if (!isDown(result)) this.#held.set(delivery.device ?? "", now + this.#pauseMs(delivery.attempts + 1));
    if (!(await store.webhookDeliveries.finish(this, this.#receiver, attempts))) {
      this.#end();
      return undefined;
    }
    this.#pending -= delivered.length;
    this.#dependencies.onProgress();
    if (failures.some(({ result }) => result.status === 410)) {
      await this.#disable("the receiver answered 410 Gone");
      return undefined;
    }
    const { failingSince } = this.#receiver;
    if (failingSince !== undefined && now - failingSince >= dayMs) {
      await this.#disable("deliveries failed for 24 hours");
      return undefined;
    }
    return Math.max((this.#receiver.nextAttemptAt ?? now) - now, 0);
  }

  #nextState(now: number, delivered: Sent | undefined, failures: readonly Sent[]): ReceiverState {
    const failure = failures.at(-1);
    const before = this.#receiver;
    const deliveredAt = delivered === undefined ? before.deliveredAt : now;
    const failed =
      failure === undefined
        ? { failedAt: before.failedAt, failedStatus: before.failedStatus, failedError: before.failedError }
        : { failedAt: now, failedStatus: failure.result.status, failedError: failure.result.error };
    const asked = Math.max(...failures.map(({ result }) => result.retryAfterMs ?? 0), 0);
    const isUp = delivered !== undefined && !failures.some(({ result }) => isDown(result));
    if (isUp)
      return { failures: 0, failingSince: undefined, nextAttemptAt: undefined, deliveredAt, ...failed };
    // An event that succeeded shows that the receiver was up a moment ago: the pauses start again.
    const count = delivered === undefined ? before.failures + 1 : 1;
    return {
      failures: count,
      failingSince: delivered === undefined ? (before.failingSince ?? now) : now,
      nextAttemptAt: now + Math.max(this.#pauseMs(count), asked),
      deliveredAt,
      ...failed,
    };
  }

  /** 1 s, 2 s, 4 s … 5 min, each a quarter longer or shorter at random. */
  #pauseMs(failures: number): number {
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 20), longestPauseMs);
    return Math.round(pauseMs * (0.75 + this.#dependencies.random() / 2));
  }

  async #disable(reason: string): Promise<void> {
    const { events, store } = this.#dependencies;
    if (await store.webhooks.disable(this.id, this.epoch, reason))
      events.webhookDisabled({ webhook: this.id, name: this.settings.name, reason });
    this.#end();
  }

  #end(): void {
    this.#abort.abort();
    this.#timer?.cancel();
    this.#dependencies.onEnd(this.id);
  }

  /** Drops events that are too old or too many. Only here, where none of them is being sent. */
  async #trim(): Promise<void> {
    const { clock, events, store, maxPending } = this.#dependencies;
    const at = clock.now();
    if (this.#pending <= maxPending && at - this.#trimmedAt < trimEveryMs) return;
    this.#trimmedAt = at;
    const gap = await store.webhookDeliveries.drop(
      this.id,
      { olderThan: at - dayMs, keep: maxPending },
      { id: makeMessageId(), at, bodyOf: (whole) => gapBody(at, whole) },
    );
    this.#pending = await store.webhookDeliveries.countPending(this.id);
    if (gap !== undefined) events.webhookDropped(this.id, gap.count ?? 0);
  }
}

/** The receiver itself fails, as opposed to rejecting one event. */
function isDown({ ok, status }: SendResult): boolean {
  if (ok) return false;
  return (
    status === undefined || status >= 500 || status < 400 || [401, 403, 404, 408, 410, 429].includes(status)
  );
}

function attemptOf({ delivery, at, result }: Sent): DeliveryAttempt {
  const { ok, status, error, durationMs } = result;
  return {
    seq: delivery.seq,
    delivered: ok,
    attempts: delivery.attempts + 1,
    attemptedAt: at,
    status,
    error,
    durationMs,
  };
}

/** The events of each device, in order. A gap, or a probe of a receiver that fails, goes alone. */
function lanesOf(deliveries: readonly StoredDelivery[], probe: boolean): StoredDelivery[][] {
  const [first] = deliveries;
  if (first !== undefined && (probe || first.type === "webhook.gap")) return [[first]];
  const lanes = new Map<string, StoredDelivery[]>();
  for (const delivery of deliveries) {
    if (delivery.type === "webhook.gap") break;
    const device = delivery.device ?? "";
    const lane = lanes.get(device);
    if (lane === undefined) lanes.set(device, [delivery]);
    else lane.push(delivery);
  }
  return [...lanes.values()];
}
