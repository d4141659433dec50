/**
 * Webhooks: events that come to a program's own address, signed as Standard Webhooks 1.0. Each webhook has its own queue
 * in the store, with the events that match it; what is delivered at least once and in order per device survives restarts
 * and node failures. Management needs `admin` for all devices.
 */
import { randomUUID } from "node:crypto";
import {
  type DeliveryList,
  type DeliveryQuery,
  normaliseDeviceId,
  type ReplayResult,
  type WebhookChange,
  type WebhookDelivery,
  type WebhookRequest,
  type WebhookTestResult,
  type WebhookView,
  webhookLimits,
} from "@tendon/protocol";
import { type Principal, requireEveryDevice, requireScope } from "../../access/access.ts";
import type { Resolve } from "../../checked-addresses.ts";
import { type Clock, isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import type { SealedKeys } from "../../provisioning/provisioning.ts";
import type { HeldLeases, Store, StoredDelivery, StoredWebhook } from "../../store/store.ts";
import { refuseUnknownTypes } from "./filter.ts";
import { makeMessageId, testBody } from "./message.ts";
import { OwnedWebhooks } from "./owned-webhooks.ts";
import { noSecret, Sender } from "./sender.ts";
import { makeSecret, signedHeaders } from "./signature.ts";
import { Targets } from "./targets.ts";

export interface WebhooksDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Pick<Store, "webhooks" | "webhookDeliveries">;
  readonly settings: { readonly allowHosts: readonly string[]; readonly maxPending: number };
  readonly seals: SealedKeys;
  readonly leases: HeldLeases;
  /** Whether other nodes may deliver, too. */
  readonly isShared: boolean;
  readonly idOf: (reference: string) => string;
  readonly isKnown: (device: string) => boolean;
  readonly tagsOf: (device: string) => readonly string[];
  readonly resolve?: Resolve | undefined;
  readonly random?: (() => number) | undefined;
}

const dayMs = 24 * 60 * 60_000;
/** With the time until a dead node is noticed, another one takes over within 15 s. */
const claimEveryMs = 3_000;
const defaultPage = 100;

export class Webhooks {
  readonly #dependencies: WebhooksDependencies;
  readonly #targets: Targets;
  readonly #sender: Sender;
  readonly #owned: OwnedWebhooks;
  readonly #abort = new AbortController();
  #notifyOthers: (id: string) => Promise<void> = async () => {};

  private constructor(dependencies: WebhooksDependencies) {
    this.#dependencies = dependencies;
    const { clock, events, store, settings, leases, isShared, tagsOf, resolve, random } = dependencies;
    this.#targets = new Targets(settings.allowHosts, resolve);
    this.#sender = new Sender({ clock, targets: this.#targets });
    this.#owned = new OwnedWebhooks({
      clock,
      events,
      store,
      sender: this.#sender,
      maxPending: settings.maxPending,
      random: random ?? Math.random,
      leases,
      tagsOf,
      settingsOf: (webhook) => ({ ...webhook, secretsAt: (now) => this.#secretsOf(webhook, now) }),
      claimEveryMs: isShared ? claimEveryMs : undefined,
    });
  }

  /** Starts the deliveries. A node of a cluster first has to learn which other nodes live. */
  static async open(dependencies: WebhooksDependencies): Promise<Webhooks> {
    const webhooks = new Webhooks(dependencies);
    if (!dependencies.isShared) await webhooks.#owned.claimAll();
    return webhooks;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#owned.stop();
    this.#sender.stop();
  }

  /** Sets the function that notifies the other nodes of a change. */
  shareWith(notify: (id: string) => Promise<void>): void {
    this.#notifyOthers = notify;
  }

  /** Applies a change that another node has made. */
  async reload(id: string): Promise<void> {
    await this.#owned.reload(id, true);
    await this.#owned.recount(id);
  }

  /** Takes over the webhooks of a node that has stopped. */
  async nodeLost(): Promise<void> {
    await this.#owned.claimAll().catch(() => undefined);
  }

  async list(principal: Principal): Promise<WebhookView[]> {
    requireWebhookAdmin(principal);
    const all = await this.#dependencies.store.webhooks.all();
    return await Promise.all(all.map((webhook) => this.#viewOf(webhook)));
  }

  async get(principal: Principal, id: string): Promise<WebhookView> {
    return await this.#viewOf(await this.#require(principal, id));
  }

  async create(
    principal: Principal,
    { url, types = ["*"], devices, name }: WebhookRequest,
  ): Promise<WebhookView & { readonly secret: string }> {
    requireWebhookAdmin(principal);
    refuseUnknownTypes(types);
    const { clock, events, store } = this.#dependencies;
    const address = this.#targets.check(url);
    const known = await store.webhooks.all();
    if (known.length >= webhookLimits.webhooks.max)
      throw new TendonError("conflict", `there are ${known.length} webhooks already; delete one first`);
    const id = randomUUID();
    const secret = makeSecret();
    const now = clock.now();
    await store.webhooks.add({
      id,
      name: name ?? new URL(address).host.slice(0, 64),
      url: address,
      types,
      devices: this.#devicesOf(devices),
      enabled: true,
      disabledReason: undefined,
      createdAt: now,
      createdBy: principal.name,
      secret: this.#seal(id, secret),
      oldSecret: undefined,
      oldSecretUntil: undefined,
      recorded: events.lastId,
      recordedAt: now,
      owner: undefined,
      epoch: 0,
      failures: 0,
      failingSince: undefined,
      nextAttemptAt: undefined,
      deliveredAt: undefined,
      failedAt: undefined,
      failedStatus: undefined,
      failedError: undefined,
    });
    await this.#changed(id);
    return { ...(await this.get(principal, id)), secret };
  }

  async change(principal: Principal, id: string, change: WebhookChange): Promise<WebhookView> {
    const before = await this.#require(principal, id);
    if (change.types !== undefined) refuseUnknownTypes(change.types);
    const enabled = change.enabled ?? before.enabled;
    const { store } = this.#dependencies;
    if (enabled && !before.enabled) await store.webhooks.forgetFailures(id);
    await store.webhooks.change(id, {
      ...before,
      name: change.name ?? before.name,
      url: change.url === undefined ? before.url : this.#targets.check(change.url),
      types: change.types ?? before.types,
      devices: change.devices === undefined ? before.devices : this.#devicesOf(change.devices ?? undefined),
      enabled,
      disabledReason: enabled ? undefined : (before.disabledReason ?? `disabled by ${principal.name}`),
    });
    await this.#changed(id);
    return await this.get(principal, id);
  }

  /** Returns what was removed, for the audit. */
  async remove(principal: Principal, id: string): Promise<WebhookView> {
    const removed = await this.get(principal, id);
    await this.#dependencies.store.webhooks.remove(id);
    await this.#changed(id);
    return removed;
  }

  /** A new secret. For a day, both secrets sign. */
  async rotate(principal: Principal, id: string): Promise<WebhookView & { readonly secret: string }> {
    const before = await this.#require(principal, id);
    const secret = makeSecret();
    await this.#dependencies.store.webhooks.change(id, {
      ...before,
      secret: this.#seal(id, secret),
      oldSecret: before.secret,
      oldSecretUntil: this.#dependencies.clock.now() + dayMs,
    });
    await this.#changed(id);
    return { ...(await this.get(principal, id)), secret };
  }

  /** Sends a `webhook.test` at once, from this node, beside the queue. */
  async test(principal: Principal, id: string): Promise<WebhookTestResult> {
    const webhook = await this.#require(principal, id);
    const at = this.#dependencies.clock.now();
    const message = { id: makeMessageId(), at, body: testBody(at, id, webhook.name) };
    const secrets = this.#secretsOf(webhook, at);
    const headers = signedHeaders(message, secrets);
    const result =
      secrets.length === 0
        ? noSecret
        : await this.#sender.send(webhook.url, headers, message.body, this.#abort.signal);
    if (result === undefined) throw new TendonError("shutting_down", "the gateway stops");
    const { ok, status, error, durationMs } = result;
    return {
      ok,
      id: message.id,
      ...(status === undefined ? {} : { status }),
      ...(error === undefined ? {} : { error }),
      durationMs,
    };
  }

  /** Newest first. */
  async deliveries(principal: Principal, id: string, query: DeliveryQuery): Promise<DeliveryList> {
    await this.#require(principal, id);
    const limit = query.limit ?? defaultPage;
    const before = query.cursor === undefined ? undefined : readCursor(query.cursor);
    const { webhookDeliveries } = this.#dependencies.store;
    const found = await webhookDeliveries.list(id, { state: query.state, before, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      deliveries: page.map(deliveryOf),
      ...(found.length > limit && last !== undefined ? { nextCursor: String(last.seq) } : {}),
    };
  }

  /** Delivers the events since this time again, as far as they are kept. */
  async replay(principal: Principal, id: string, since: string): Promise<ReplayResult> {
    await this.#require(principal, id);
    const { clock, store } = this.#dependencies;
    const from = Date.parse(since);
    if (from > clock.now()) throw new TendonError("bad_request", "/since must be in the past");
    const replayed = await store.webhookDeliveries.replay(id, from);
    await this.#changed(id);
    return { replayed };
  }

  async #changed(id: string): Promise<void> {
    await this.reload(id);
    await this.#notifyOthers(id);
  }

  async #require(principal: Principal, id: string): Promise<StoredWebhook> {
    requireWebhookAdmin(principal);
    const webhook = await this.#dependencies.store.webhooks.get(id);
    if (webhook === undefined) throw new TendonError("not_found", "no webhook has this id");
    return webhook;
  }

  /** Turns aliases into ids, because an alias may change. The id of a device that has never connected is accepted too. */
  #devicesOf(devices: WebhookRequest["devices"]): StoredWebhook["devices"] {
    if (devices === undefined) return undefined;
    const { idOf, isKnown } = this.#dependencies;
    const ids = (devices.ids ?? []).map((reference, index) => {
      const id = idOf(reference);
      if (isKnown(id)) return id;
      const expected = normaliseDeviceId(reference);
      if (expected?.includes(":") === true) return expected;
      const detail = `/devices/ids/${index} no device has the id or alias \`${reference}\``;
      throw new TendonError("bad_request", detail);
    });
    return { ids: [...new Set(ids)], tags: devices.tags ?? [] };
  }

  #seal(id: string, secret: string): string {
    return this.#dependencies.seals.seal(id, Buffer.from(secret));
  }

  /** The secrets that sign now, the newest first. */
  #secretsOf({ id, secret, oldSecret, oldSecretUntil = 0 }: StoredWebhook, now: number): string[] {
    const sealed = [secret, ...(oldSecret !== undefined && now < oldSecretUntil ? [oldSecret] : [])];
    return sealed.flatMap((text) => this.#dependencies.seals.open(id, text)?.toString() ?? []);
  }

  async #viewOf(webhook: StoredWebhook): Promise<WebhookView> {
    const { clock, store } = this.#dependencies;
    const { deliveredAt, failingSince, nextAttemptAt, failedAt, failedStatus, failedError } = webhook;
    const { oldSecretUntil = 0, disabledReason } = webhook;
    const failing = webhook.failures > 0;
    return {
      id: webhook.id,
      name: webhook.name,
      url: webhook.url,
      types: [...webhook.types],
      ...(webhook.devices === undefined
        ? {}
        : { devices: { ids: [...webhook.devices.ids], tags: [...webhook.devices.tags] } }),
      enabled: webhook.enabled,
      state: !webhook.enabled ? "disabled" : failing ? "failing" : "ok",
      ...(disabledReason === undefined ? {} : { disabledReason }),
      createdAt: isoTime(webhook.createdAt),
      createdBy: webhook.createdBy,
      pending: await store.webhookDeliveries.countPending(webhook.id),
      ...(deliveredAt === undefined ? {} : { lastDeliveredAt: isoTime(deliveredAt) }),
      ...(failing && failingSince !== undefined ? { failingSince: isoTime(failingSince) } : {}),
      ...(failing && nextAttemptAt !== undefined ? { nextAttemptAt: isoTime(nextAttemptAt) } : {}),
      ...(failedAt === undefined
        ? {}
        : {
            lastFailure: {
              at: isoTime(failedAt),
              ...(failedStatus === undefined ? {} : { status: failedStatus }),
              error: failedError ?? "",
            },
          }),
      ...(oldSecretUntil > clock.now() ? { oldSecretUntil: isoTime(oldSecretUntil) } : {}),
    };
  }
}

/** An event of any device may match, so a token that is limited to some devices must not manage webhooks. */
function requireWebhookAdmin(principal: Principal): void {
  requireScope(principal, "admin");
  requireEveryDevice(principal, "the list of webhooks");
}

function readCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new TendonError("bad_request", "`cursor` is not valid. Use the `nextCursor` of an earlier page.");
}

function deliveryOf(delivery: StoredDelivery): WebhookDelivery {
  const { id, type, at, device, state, attempts, attemptedAt, status, error, durationMs } = delivery;
  return {
    id,
    type,
    at: isoTime(at),
    ...(device === undefined ? {} : { device }),
    state,
    attempts,
    ...(attemptedAt === undefined ? {} : { attemptedAt: isoTime(attemptedAt) }),
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
}
