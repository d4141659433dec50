import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Pairings, imported devices and firmware images. */
export async function createProvisioning(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  const { schema } = tx;
  await schema
    .createTable("tendon_pairings")
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("client_id_hash", key, (column) => column.notNull())
    .addColumn("code", key, (column) => column.notNull().unique())
    .addColumn("challenge", text, (column) => column.notNull())
    .addColumn("details", text, (column) => column.notNull())
    .addColumn("attempts", whole, (column) => column.notNull())
    .addColumn("created_at", whole, (column) => column.notNull())
    .addColumn("expires_at", whole, (column) => column.notNull())
    .addPrimaryKeyConstraint("tendon_pairings_key", ["device", "client_id_hash"])
    .execute();
  await schema.createIndex("tendon_pairings_end").on("tendon_pairings").column("expires_at").execute();
  await schema
    .createTable("tendon_imports")
    .addColumn("device", key, (column) => column.primaryKey().notNull())
    .addColumn("serial", key)
    .addColumn("sealed_key", text)
    .addColumn("tags", text, (column) => column.notNull())
    .addColumn("imported_at", whole, (column) => column.notNull())
    .execute();
  await schema.createIndex("tendon_imports_serial").on("tendon_imports").column("serial").execute();
  await schema
    .createTable("tendon_firmware")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("board", key, (column) => column.notNull())
    .addColumn("version", key, (column) => column.notNull())
    .addColumn("file", text, (column) => column.notNull())
    .addColumn("size", whole, (column) => column.notNull())
    .addColumn("sha256", text, (column) => column.notNull())
    .addColumn("share", whole, (column) => column.notNull())
    .addColumn("state", text, (column) => column.notNull())
    .addColumn("added_at", whole, (column) => column.notNull())
    .addUniqueConstraint("tendon_firmware_version", ["board", "version"])
    .execute();
}
