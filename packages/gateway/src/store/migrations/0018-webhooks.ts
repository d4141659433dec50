import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Webhooks, and the events that each delivers, in order. */
export async function createWebhooks(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole, flag } = columnTypes(kind);
  const { schema } = tx;
  await schema
    .createTable("tendon_webhooks")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("name", text, (column) => column.notNull())
    .addColumn("url", text, (column) => column.notNull())
    .addColumn("types", text, (column) => column.notNull())
    .addColumn("devices", text)
    .addColumn("enabled", flag, (column) => column.notNull())
    .addColumn("disabled_reason", text)
    .addColumn("created_at", whole, (column) => column.notNull())
    .addColumn("created_by", text, (column) => column.notNull())
    .addColumn("secret", text, (column) => column.notNull())
    .addColumn("old_secret", text)
    .addColumn("old_secret_until", whole)
    .addColumn("recorded", text, (column) => column.notNull())
    .addColumn("recorded_at", whole, (column) => column.notNull())
    .addColumn("owner", text)
    .addColumn("epoch", whole, (column) => column.notNull())
    .addColumn("failures", whole, (column) => column.notNull())
    .addColumn("failing_since", whole)
    .addColumn("next_attempt_at", whole)
    .addColumn("delivered_at", whole)
    .addColumn("failed_at", whole)
    .addColumn("failed_status", whole)
    .addColumn("failed_error", text)
    .execute();
  await (kind === "sqlite"
    ? schema
        .createTable("tendon_webhook_deliveries")
        .addColumn("seq", "integer", (column) => column.primaryKey())
    : schema
        .createTable("tendon_webhook_deliveries")
        .addColumn("seq", "bigint", (column) => column.primaryKey().generatedAlwaysAsIdentity())
  )
    .addColumn("id", key, (column) => column.notNull())
    .addColumn("webhook", key, (column) => column.notNull())
    .addColumn("type", text, (column) => column.notNull())
    .addColumn("at", whole, (column) => column.notNull())
    .addColumn("device", key)
    .addColumn("body", text, (column) => column.notNull())
    .addColumn("state", key, (column) => column.notNull())
    .addColumn("attempts", whole, (column) => column.notNull())
    .addColumn("attempted_at", whole)
    .addColumn("status", whole)
    .addColumn("error", text)
    .addColumn("duration_ms", whole)
    .execute();
  await schema
    .createIndex("tendon_webhook_deliveries_state")
    .on("tendon_webhook_deliveries")
    .columns(["webhook", "state", "seq"])
    .execute();
  await schema
    .createIndex("tendon_webhook_deliveries_age")
    .on("tendon_webhook_deliveries")
    .columns(["state", "at"])
    .execute();
}
