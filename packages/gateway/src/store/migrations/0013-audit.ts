import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Who changed what. Entries are only added, and deleted when they are too old. */
export async function createAudit(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_audit")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("at", whole, (column) => column.notNull())
    .addColumn("principal", text, (column) => column.notNull())
    .addColumn("action", key, (column) => column.notNull())
    .addColumn("target_type", key, (column) => column.notNull())
    .addColumn("target_id", text, (column) => column.notNull())
    .addColumn("target_name", text, (column) => column.notNull())
    .addColumn("source", text, (column) => column.notNull())
    .addColumn("detail", text)
    .execute();
  await tx.schema.createIndex("tendon_audit_at").on("tendon_audit").columns(["at", "id"]).execute();
}
