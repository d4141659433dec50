import { isAuditOf } from "@tendon/protocol";
import type { Selectable } from "kysely";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { fromJson, optional } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";
import type { WebhookDeliveriesTable } from "./tables.ts";
import { type ReceiverState, receiverColumns } from "./webhooks.ts";

/** An event that a webhook delivers. */
export interface NewDelivery {
  /** The `webhook-id`. */
  readonly id: string;
  readonly type: string;
  readonly at: number;
  readonly device: string | undefined;
  readonly body: string;
}

export interface StoredDelivery extends NewDelivery {
  readonly seq: number;
  readonly state: "pending" | "delivered";
  readonly attempts: number;
  readonly attemptedAt: number | undefined;
  readonly status: number | undefined;
  readonly error: string | undefined;
  readonly durationMs: number | undefined;
}

/** The end of one attempt. */
export interface DeliveryAttempt {
  readonly seq: number;
  readonly delivered: boolean;
  readonly attempts: number;
  readonly attemptedAt: number;
  readonly status: number | undefined;
  readonly error: string | undefined;
  readonly durationMs: number;
}

/** Events that were dropped before their delivery. `count` is null if it is unknown. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly count: number | null;
}

export interface DeliveryPageQuery {
  readonly state?: StoredDelivery["state"] | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

/** A claim on a webhook: writes of an owner that another one has replaced are rejected. */
export interface OwnedWebhook {
  readonly id: string;
  readonly epoch: number;
}

const gapType = "webhook.gap";

export class WebhookDeliveries {
  readonly #db: Database;
  readonly #insert = deliveryInsert();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Adds events in order, together with the position in the event log. Returns false if another owner has taken over. */
  async record(
    { id, epoch }: OwnedWebhook,
    position: { readonly recorded: string; readonly recordedAt: number },
    deliveries: readonly NewDelivery[],
  ): Promise<boolean> {
    return await atomically(this.#db, async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable("tendon_webhooks")
        .set({ recorded: position.recorded, recorded_at: position.recordedAt })
        .where("id", "=", id)
        .where("epoch", "=", epoch)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      await this.#insert.run(
        tx,
        deliveries.map((delivery) => ({ webhook: id, delivery })),
      );
      return true;
    });
  }

  /** The oldest pending ones, in order, without those of these devices. The device of an event without one is "". */
  async pending(id: string, limit: number, without: readonly string[]): Promise<StoredDelivery[]> {
    let query = this.#db
      .selectFrom("tendon_webhook_deliveries")
      .selectAll()
      .where("webhook", "=", id)
      .where("state", "=", "pending");
    if (without.length > 0)
      query = query.where((eb) => eb(eb.fn.coalesce("device", eb.val("")), "not in", [...without]));
    return (await query.orderBy("seq").limit(limit).execute()).map(read);
  }

  async countPending(id: string): Promise<number> {
    const row = await this.#db
      .selectFrom("tendon_webhook_deliveries")
      .select((eb) => eb.fn.countAll().as("count"))
      .where("webhook", "=", id)
      .where("state", "=", "pending")
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }

  /** Stores the ends of attempts and the state of the receiver. Returns false if another owner has taken over. */
  async finish(
    { id, epoch }: OwnedWebhook,
    receiver: ReceiverState,
    attempts: readonly DeliveryAttempt[],
  ): Promise<boolean> {
    return await atomically(this.#db, async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable("tendon_webhooks")
        .set(receiverColumns(receiver))
        .where("id", "=", id)
        .where("epoch", "=", epoch)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      for (const attempt of attempts) {
        await tx
          .updateTable("tendon_webhook_deliveries")
          .set({
            state: attempt.delivered ? "delivered" : "pending",
            attempts: attempt.attempts,
            attempted_at: attempt.attemptedAt,
            status: attempt.status ?? null,
            error: attempt.error ?? null,
            duration_ms: attempt.durationMs,
          })
          .where("seq", "=", attempt.seq)
          .execute();
      }
      return true;
    });
  }

  /**
   * Drops the oldest pending events: those older than `olderThan`, and those beyond the newest `keep`. One
   * `webhook.gap` takes their place. `bodyOf` writes its body. Returns the gap, without earlier ones that it includes.
   */
  async drop(
    id: string,
    { olderThan, keep }: { readonly olderThan: number; readonly keep: number },
    made: { readonly id: string; readonly at: number; readonly bodyOf: (gap: Gap) => string },
  ): Promise<Gap | undefined> {
    return await atomically(this.#db, async (tx) => {
      const last = await lastDropped(tx, id, olderThan, keep);
      if (last === undefined) return undefined;
      const dropped = tx
        .selectFrom("tendon_webhook_deliveries")
        .where("webhook", "=", id)
        .where("state", "=", "pending")
        .where("seq", "<=", last);
      const events = await dropped
        .where("type", "!=", gapType)
        .select((eb) => [eb.fn.countAll().as("count"), eb.fn.min("at").as("from"), eb.fn.max("at").as("to")])
        .executeTakeFirst();
      const count = Number(events?.count ?? 0);
      if (count === 0) return undefined;
      const gap: Gap = { from: Number(events?.from), to: Number(events?.to), count };
      const earlier = await dropped.where("type", "=", gapType).select("body").execute();
      const whole = earlier.map(({ body }) => readGap(body)).reduce(merge, gap);
      await tx
        .deleteFrom("tendon_webhook_deliveries")
        .where("webhook", "=", id)
        .where("state", "=", "pending")
        .where("seq", "<", last)
        .execute();
      await tx
        .updateTable("tendon_webhook_deliveries")
        .set({
          id: made.id,
          type: gapType,
          at: made.at,
          device: null,
          body: made.bodyOf(whole),
          attempts: 0,
          attempted_at: null,
          status: null,
          error: null,
          duration_ms: null,
        })
        .where("seq", "=", last)
        .execute();
      return gap;
    });
  }

  /** Newest first. */
  async list(id: string, { state, before, limit }: DeliveryPageQuery): Promise<StoredDelivery[]> {
    let query = this.#db.selectFrom("tendon_webhook_deliveries").selectAll().where("webhook", "=", id);
    if (state !== undefined) query = query.where("state", "=", state);
    if (before !== undefined) query = query.where("seq", "<", before);
    return (await query.orderBy("seq", "desc").limit(limit).execute()).map(read);
  }

  /** Makes the events since this time pending again. Returns their number. */
  async replay(id: string, since: number): Promise<number> {
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_webhook_deliveries")
      .set({ state: "pending", attempts: 0 })
      .where("webhook", "=", id)
      .where("state", "=", "delivered")
      .where("at", ">=", since)
      .executeTakeFirst();
    return Number(numUpdatedRows);
  }

  async removeOf(device: string): Promise<void> {
    await this.#db.deleteFrom("tendon_webhook_deliveries").where("device", "=", device).execute();
    // Events of the audit belong to no device, but may be about it. The text is only a first selection.
    const audited = await this.#db
      .selectFrom("tendon_webhook_deliveries")
      .select(["seq", "body"])
      .where("type", "=", "audit.recorded")
      .where("body", "like", `%${device}%`)
      .execute();
    const about = audited.filter(({ body }) => isAuditOf(device, fromJson<{ data: unknown }>(body).data));
    for (const { seq } of about)
      await this.#db.deleteFrom("tendon_webhook_deliveries").where("seq", "=", seq).execute();
  }

  /** Deletes delivered events that are too old for a replay, or beyond the newest `keep` of a webhook. Returns their number. */
  async prune(olderThan: number, keep: number, limit: number): Promise<number> {
    const aged = await this.#db
      .deleteFrom("tendon_webhook_deliveries")
      .where("seq", "in", (eb) =>
        eb
          .selectFrom("tendon_webhook_deliveries")
          .select("seq")
          .where("state", "=", "delivered")
          .where("at", "<", olderThan)
          .limit(limit),
      )
      .executeTakeFirst();
    let deleted = Number(aged.numDeletedRows);
    for (const { id } of await this.#db.selectFrom("tendon_webhooks").select("id").execute())
      deleted += await this.#pruneSurplus(id, keep, limit);
    return deleted;
  }

  async #pruneSurplus(id: string, keep: number, limit: number): Promise<number> {
    const delivered = this.#db
      .selectFrom("tendon_webhook_deliveries")
      .select("seq")
      .where("webhook", "=", id)
      .where("state", "=", "delivered");
    const last = await delivered.orderBy("seq", "desc").offset(keep).limit(1).executeTakeFirst();
    if (last === undefined) return 0;
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_webhook_deliveries")
      .where("seq", "in", delivered.where("seq", "<=", last.seq).orderBy("seq").limit(limit))
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}

async function lastDropped(
  tx: Database,
  id: string,
  olderThan: number,
  keep: number,
): Promise<number | undefined> {
  const pending = tx
    .selectFrom("tendon_webhook_deliveries")
    .where("webhook", "=", id)
    .where("state", "=", "pending");
  // One fewer than allowed stay, because the gap is one too.
  const surplus = await pending
    .select("seq")
    .orderBy("seq", "desc")
    .offset(keep - 1)
    .limit(2)
    .execute();
  const aged = await pending
    .select((eb) => eb.fn.max("seq").as("seq"))
    .where("at", "<", olderThan)
    .executeTakeFirst();
  const last = Math.max(surplus.length === 2 ? (surplus[0]?.seq ?? 0) : 0, Number(aged?.seq ?? 0));
  return last === 0 ? undefined : last;
}

/** The caller's `bodyOf` has written it, with times in ISO format. */
function readGap(body: string): Gap {
  const { data } = fromJson<{ data: { from: string; to: string; count: number | null } }>(body);
  return { from: Date.parse(data.from), to: Date.parse(data.to), count: data.count };
}

function merge(one: Gap, other: Gap): Gap {
  return {
    from: Math.min(one.from, other.from),
    to: Math.max(one.to, other.to),
    count: one.count === null || other.count === null ? null : one.count + other.count,
  };
}

function read(row: Selectable<WebhookDeliveriesTable>): StoredDelivery {
  return {
    seq: row.seq,
    id: row.id,
    type: row.type,
    at: row.at,
    device: optional(row.device),
    body: row.body,
    // Safe: only this file fills this column.
    state: row.state as StoredDelivery["state"],
    attempts: row.attempts,
    attemptedAt: optional(row.attempted_at),
    status: optional(row.status),
    error: optional(row.error),
    durationMs: optional(row.duration_ms),
  };
}

function deliveryInsert(): BulkStatement<{ readonly webhook: string; readonly delivery: NewDelivery }> {
  const empty = { id: "", webhook: "", type: "", at: 0, device: null, body: "", state: "", attempts: 0 };
  return new BulkStatement({
    write: (db, rows) => db.insertInto("tendon_webhook_deliveries").values(repeated(rows, empty)).compile(),
    bind({ webhook, delivery: { id, type, at, device, body } }, into) {
      into.push(id, webhook, type, at, device ?? null, body, "pending", 0);
    },
  });
}
