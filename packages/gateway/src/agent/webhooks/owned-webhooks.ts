/**
 * The webhooks that this node delivers. One node owns each: it copies the matching events of the event log into the
 * webhook's own queue, and delivers them. A single node owns all. In a cluster, a node claims a webhook whose owner has
 * stopped; the epoch of the claim rejects later writes of the former owner.
 */
import type { GatewayEvent } from "@tendon/protocol";
import type { Timer } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import type { HeldLeases, NewDelivery, StoredWebhook } from "../../store/store.ts";
import { DeliveryLoop, type LoopDependencies, type LoopSettings } from "./delivery-loop.ts";
import { matches } from "./filter.ts";
import { gapMessage, messageOf } from "./message.ts";

export interface OwnedWebhooksDependencies extends Omit<LoopDependencies, "onEnd" | "onProgress"> {
  readonly leases: HeldLeases;
  readonly tagsOf: (device: string) => readonly string[];
  readonly settingsOf: (webhook: StoredWebhook) => LoopSettings;
  /** In a cluster: claims are checked so often. */
  readonly claimEveryMs: number | undefined;
}

interface Owned {
  readonly loop: DeliveryLoop;
  /** The newest event that was compared with the filter. */
  recorded: string;
  recordedAt: number;
  /** When the position was last stored. */
  storedAt: number;
  /** Records in order, one after the other. */
  recording: Promise<void>;
}

const gatherMs = 50;
/** After the store has failed. */
const retryMs = 1_000;
/** While events match nothing, their position is stored so often. */
const positionEveryMs = 5_000;

export class OwnedWebhooks {
  readonly #dependencies: OwnedWebhooksDependencies;
  readonly #owned = new Map<string, Owned>();
  readonly #timers: Timer[] = [];
  #gathering: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  /** Loads and claims, one after the other. */
  #loading: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(dependencies: OwnedWebhooksDependencies) {
    this.#dependencies = dependencies;
    const { clock, claimEveryMs } = dependencies;
    if (claimEveryMs !== undefined) this.#timers.push(clock.every(claimEveryMs, () => void this.claimAll()));
  }

  /** Claims every webhook without a live owner. */
  claimAll(): Promise<void> {
    return this.#serially(async () => {
      for (const webhook of await this.#dependencies.store.webhooks.all())
        if (!this.#owned.has(webhook.id)) await this.#apply(webhook);
    });
  }

  /** Applies a change of a webhook: its settings, its end, or a new one. */
  reload(id: string, restart = false): Promise<void> {
    return this.#serially(async () => {
      const webhook = await this.#dependencies.store.webhooks.get(id);
      const owned = this.#owned.get(id);
      if (
        webhook === undefined ||
        !webhook.enabled ||
        (owned !== undefined && webhook.epoch !== owned.loop.epoch)
      )
        await this.#drop(id);
      if (webhook === undefined) return;
      await this.#apply(webhook);
      if (restart) this.#owned.get(id)?.loop.restart();
    });
  }

  /** Wakes the loop of a webhook after its queue has changed. */
  async recount(id: string): Promise<void> {
    await this.#owned.get(id)?.loop.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#gathering?.cancel();
    for (const timer of this.#timers) timer.cancel();
    await this.#loading;
    await Promise.all(
      [...this.#owned].map(async ([id, owned]) => {
        await this.#record(owned, true);
        await owned.loop.stop();
        await this.#dependencies.leases.release(id);
      }),
    );
    this.#owned.clear();
  }

  #serially(work: () => Promise<void>): Promise<void> {
    const done = this.#loading.then(async () => {
      if (!this.#stopped) await work();
    });
    // The next check repeats what the store could not do now.
    this.#loading = done.catch(() => undefined);
    return done;
  }

  async #apply(webhook: StoredWebhook): Promise<void> {
    const { leases, settingsOf, clock } = this.#dependencies;
    const owned = this.#owned.get(webhook.id);
    if (owned !== undefined) {
      owned.loop.settings = settingsOf(webhook);
      return;
    }
    if (!webhook.enabled) return;
    // A claim of an earlier loop: its writes must not be taken for those of the new one.
    leases.forget(webhook.id);
    await leases.check(webhook.id, webhook);
    const epoch = leases.epochOf(webhook.id);
    if (epoch === undefined) return;
    const loop = new DeliveryLoop(
      {
        ...this.#dependencies,
        onEnd: (id) => {
          this.#owned.delete(id);
          this.#report();
        },
        onProgress: () => this.#report(),
      },
      { ...webhook, epoch },
      settingsOf(webhook),
    );
    const { recorded, recordedAt } = webhook;
    const taken: Owned = { loop, recorded, recordedAt, storedAt: clock.now(), recording: Promise.resolve() };
    this.#owned.set(webhook.id, taken);
    this.#unsubscribe ??= this.#dependencies.events.subscribe(() => this.#gather());
    await this.#record(taken, false);
    await loop.start();
  }

  async #drop(id: string): Promise<void> {
    const owned = this.#owned.get(id);
    this.#owned.delete(id);
    if (owned === undefined) return;
    await this.#record(owned, true);
    await owned.loop.stop();
    await this.#dependencies.leases.release(id);
  }

  #report(): void {
    const loops = [...this.#owned.values()].map(({ loop }) => loop);
    this.#dependencies.events.webhookFigures({
      pending: loops.reduce((sum, { pending }) => sum + pending, 0),
      failing: loops.filter(({ failing }) => failing).length,
    });
  }

  #gather(ms = gatherMs): void {
    if (this.#stopped) return;
    this.#gathering ??= this.#dependencies.clock.after(ms, () => {
      this.#gathering = undefined;
      for (const owned of this.#owned.values()) void this.#record(owned, false);
    });
  }

  /** Never rejects: what could not be stored is read from the event log again. */
  #record(owned: Owned, final: boolean): Promise<void> {
    owned.recording = owned.recording
      .then(() => this.#recordNew(owned, final))
      .catch(() => this.#gather(retryMs));
    return owned.recording;
  }

  async #recordNew(owned: Owned, final: boolean): Promise<void> {
    const { clock, events, store, tagsOf } = this.#dependencies;
    const now = clock.now();
    const { found, last } = await eventsAfter(events, owned.recorded);
    if (last === owned.recorded) return;
    const deliveries: NewDelivery[] =
      found === undefined
        ? [gapMessage(now, { from: owned.recordedAt, to: now, count: null })]
        : found.filter((event) => matches(owned.loop.settings, event, tagsOf)).map(messageOf);
    if (deliveries.length > 0 || final || now - owned.storedAt >= positionEveryMs) {
      const position = { recorded: last, recordedAt: now };
      if (!(await store.webhookDeliveries.record(owned.loop, position, deliveries))) {
        this.#owned.delete(owned.loop.id);
        await owned.loop.stop();
        return;
      }
      owned.storedAt = now;
    }
    owned.recorded = last;
    owned.recordedAt = now;
    if (deliveries.length === 0) return;
    owned.loop.recorded(deliveries.length);
    this.#report();
  }
}

/** The events after this one, and the id of the last; `found` is undefined if the event log no longer has all of them. */
async function eventsAfter(
  events: Events,
  id: string,
): Promise<{ readonly found: readonly GatewayEvent[] | undefined; readonly last: string }> {
  const last = events.lastId;
  const missed = events.since(id);
  if (missed === undefined) return { found: undefined, last };
  const earlier = missed.earlier === undefined ? [] : await missed.earlier();
  if (earlier === undefined) return { found: undefined, last };
  const found = [...earlier, ...missed.recent];
  return { found, last: found.at(-1)?.id ?? id };
}
