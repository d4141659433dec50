import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Calls, approvals and events. */
export async function createHistory(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  const { schema } = tx;
  await (kind === "sqlite"
    ? schema.createTable("tendon_calls").addColumn("seq", "integer", (column) => column.primaryKey())
    : schema
        .createTable("tendon_calls")
        .addColumn("seq", "bigint", (column) => column.primaryKey().generatedAlwaysAsIdentity())
  )
    .addColumn("at", whole, (column) => column.notNull())
    .addColumn("id", key, (column) => column.notNull())
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("tool", text, (column) => column.notNull())
    .addColumn("principal", text, (column) => column.notNull())
    .addColumn("outcome", text, (column) => column.notNull())
    .addColumn("queued_ms", whole, (column) => column.notNull())
    .addColumn("duration_ms", whole, (column) => column.notNull())
    .addColumn("argument_digest", text, (column) => column.notNull())
    .addColumn("arguments", text)
    .addColumn("approval", text)
    .addColumn("node", text)
    .execute();
  // Few indexes, because each one slows every insert. Other filters scan one of these in bounded steps.
  await schema.createIndex("tendon_calls_newest").unique().on("tendon_calls").columns(["at", "id"]).execute();
  await schema
    .createIndex("tendon_calls_device")
    .on("tendon_calls")
    .columns(["device", "at", "id"])
    .execute();
  await schema
    .createTable("tendon_approvals")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("principal", key, (column) => column.notNull())
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("tool", key, (column) => column.notNull())
    .addColumn("argument_digest", key, (column) => column.notNull())
    .addColumn("targets_digest", key, (column) => column.notNull())
    .addColumn("schema_digest", key, (column) => column.notNull())
    .addColumn("arguments", text)
    .addColumn("state", text, (column) => column.notNull())
    .addColumn("waiting_for", key, (column) => column.unique())
    .addColumn("asked_at", whole, (column) => column.notNull())
    .addColumn("expires_at", whole, (column) => column.notNull())
    .addColumn("decided_at", whole)
    .addColumn("decided_by", text)
    .addColumn("consumed_at", whole)
    .execute();
  await schema
    .createIndex("tendon_approvals_call")
    .on("tendon_approvals")
    .columns(["device", "principal", "argument_digest"])
    .execute();
  await schema.createIndex("tendon_approvals_end").on("tendon_approvals").column("expires_at").execute();
  await schema
    .createTable("tendon_events")
    .addColumn("stream", key, (column) => column.notNull())
    .addColumn("sequence", whole, (column) => column.notNull())
    .addColumn("type", text, (column) => column.notNull())
    .addColumn("at", whole, (column) => column.notNull())
    .addColumn("device", text)
    .addColumn("data", text, (column) => column.notNull())
    .addPrimaryKeyConstraint("tendon_events_key", ["stream", "sequence"])
    .execute();
}
