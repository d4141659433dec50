import { flag, fromJson, identifier, optional, toJson } from "./codec.ts";
import type { Database } from "./engine.ts";
import { RowLeases } from "./leases.ts";
import type { WebhooksTable } from "./tables.ts";

export interface StoredWebhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly devices: { readonly ids: readonly string[]; readonly tags: readonly string[] } | undefined;
  readonly enabled: boolean;
  readonly disabledReason: string | undefined;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Sealed by the caller, like `oldSecret`; the store cannot read them. */
  readonly secret: string;
  readonly oldSecret: string | undefined;
  readonly oldSecretUntil: number | undefined;
  /** The id of the newest event that was compared with the filter, and when. */
  readonly recorded: string;
  readonly recordedAt: number;
  /** The run of the gateway that delivers. Its writes need the epoch of its claim. */
  readonly owner: string | undefined;
  readonly epoch: number;
  readonly failures: number;
  readonly failingSince: number | undefined;
  readonly nextAttemptAt: number | undefined;
  readonly deliveredAt: number | undefined;
  readonly failedAt: number | undefined;
  readonly failedStatus: number | undefined;
  readonly failedError: string | undefined;
}

/** What people change. */
export type WebhookFields = Pick<
  StoredWebhook,
  | "name"
  | "url"
  | "types"
  | "devices"
  | "enabled"
  | "disabledReason"
  | "secret"
  | "oldSecret"
  | "oldSecretUntil"
>;

/** What the owner keeps about the receiver. */
export type ReceiverState = Pick<
  StoredWebhook,
  "failures" | "failingSince" | "nextAttemptAt" | "deliveredAt" | "failedAt" | "failedStatus" | "failedError"
>;

export class Webhooks {
  readonly leases: RowLeases;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    this.leases = new RowLeases(db, "tendon_webhooks");
  }

  async all(): Promise<StoredWebhook[]> {
    const rows = await this.#db
      .selectFrom("tendon_webhooks")
      .selectAll()
      .orderBy("created_at")
      .orderBy("id")
      .execute();
    return rows.map(read);
  }

  async get(id: string): Promise<StoredWebhook | undefined> {
    const row = await this.#db
      .selectFrom("tendon_webhooks")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  async add(webhook: StoredWebhook): Promise<void> {
    const { id, createdAt, createdBy, recorded, recordedAt, owner, epoch } = webhook;
    await this.#db
      .insertInto("tendon_webhooks")
      .values({
        id: identifier(id, "the webhook's id"),
        ...fieldColumns(webhook),
        ...receiverColumns(webhook),
        created_at: createdAt,
        created_by: createdBy,
        recorded,
        recorded_at: recordedAt,
        owner: owner ?? null,
        epoch,
      })
      .execute();
  }

  async change(id: string, fields: WebhookFields): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_webhooks")
      .set(fieldColumns(fields))
      .where("id", "=", id)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Forgets the failures, so that a webhook that is enabled again starts afresh. */
  async forgetFailures(id: string): Promise<void> {
    await this.#db
      .updateTable("tendon_webhooks")
      .set({ failures: 0, failing_since: null, next_attempt_at: null })
      .where("id", "=", id)
      .execute();
  }

  /** Returns true only for the caller that disabled it. */
  async disable(id: string, epoch: number, reason: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_webhooks")
      .set({ enabled: 0, disabled_reason: reason, next_attempt_at: null })
      .where("id", "=", id)
      .where("epoch", "=", epoch)
      .where("enabled", "=", 1)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Removes the webhook and its deliveries. */
  async remove(id: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_webhooks")
      .where("id", "=", id)
      .executeTakeFirst();
    await this.#db.deleteFrom("tendon_webhook_deliveries").where("webhook", "=", id).execute();
    return numDeletedRows > 0n;
  }
}

function fieldColumns(fields: WebhookFields) {
  return {
    name: fields.name,
    url: fields.url,
    types: toJson(fields.types),
    devices: fields.devices === undefined ? null : toJson(fields.devices),
    enabled: flag(fields.enabled),
    disabled_reason: fields.disabledReason ?? null,
    secret: fields.secret,
    old_secret: fields.oldSecret ?? null,
    old_secret_until: fields.oldSecretUntil ?? null,
  };
}

export function receiverColumns(state: ReceiverState) {
  return {
    failures: state.failures,
    failing_since: state.failingSince ?? null,
    next_attempt_at: state.nextAttemptAt ?? null,
    delivered_at: state.deliveredAt ?? null,
    failed_at: state.failedAt ?? null,
    failed_status: state.failedStatus ?? null,
    failed_error: state.failedError ?? null,
  };
}

function read(row: WebhooksTable): StoredWebhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    types: fromJson<string[]>(row.types),
    devices: row.devices === null ? undefined : fromJson<{ ids: string[]; tags: string[] }>(row.devices),
    enabled: row.enabled === 1,
    disabledReason: optional(row.disabled_reason),
    createdAt: row.created_at,
    createdBy: row.created_by,
    secret: row.secret,
    oldSecret: optional(row.old_secret),
    oldSecretUntil: optional(row.old_secret_until),
    recorded: row.recorded,
    recordedAt: row.recorded_at,
    owner: optional(row.owner),
    epoch: row.epoch,
    failures: row.failures,
    failingSince: optional(row.failing_since),
    nextAttemptAt: optional(row.next_attempt_at),
    deliveredAt: optional(row.delivered_at),
    failedAt: optional(row.failed_at),
    failedStatus: optional(row.failed_status),
    failedError: optional(row.failed_error),
  };
}
