import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Devices with their names and tools, tokens, settings. */
export async function createDevices(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole, flag } = columnTypes(kind);
  const { schema } = tx;
  await schema
    .createTable("tendon_devices")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("kind", text, (column) => column.notNull())
    .addColumn("client_id_hash", text)
    .addColumn("alias", key, (column) => column.notNull())
    .addColumn("alias_chosen", flag, (column) => column.notNull())
    .addColumn("tags", text, (column) => column.notNull())
    .addColumn("board", text)
    .addColumn("firmware", text)
    .addColumn("protocol_version", text)
    .addColumn("transport", text)
    .addColumn("transport_setting", text)
    .addColumn("approval", text, (column) => column.notNull())
    .addColumn("serial", text)
    .addColumn("sealed_key", text)
    .addColumn("generation", whole, (column) => column.notNull())
    .addColumn("created_at", whole, (column) => column.notNull())
    .addColumn("lapses_at", whole)
    .addColumn("last_seen_at", whole)
    .addColumn("last_disconnect_at", whole)
    .addColumn("last_disconnect_reason", text)
    .execute();
  await schema
    .createTable("tendon_aliases")
    .addColumn("alias", key, (column) => column.primaryKey().notNull())
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("current", flag, (column) => column.notNull())
    .addColumn("given_at", whole, (column) => column.notNull())
    .execute();
  await schema.createIndex("tendon_aliases_device").on("tendon_aliases").column("device").execute();
  await schema
    .createTable("tendon_names")
    .addColumn("name", key, (column) => column.primaryKey().notNull())
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("tool", text, (column) => column.notNull())
    .addColumn("given_at", whole, (column) => column.notNull())
    .execute();
  await schema.createIndex("tendon_names_device").on("tendon_names").column("device").execute();
  await schema
    .createTable("tendon_tool_contents")
    .addColumn("digest", key, (column) => column.primaryKey().notNull())
    .addColumn("content", text, (column) => column.notNull())
    .addColumn("used_at", whole, (column) => column.notNull())
    .execute();
  await schema
    .createTable("tendon_tool_lists")
    .addColumn("device", key, (column) => column.primaryKey().notNull())
    .addColumn("digest", key, (column) => column.notNull())
    .addColumn("complete", flag, (column) => column.notNull())
    .addColumn("problem", text)
    .addColumn("listed_at", whole, (column) => column.notNull())
    .execute();
  await schema.createIndex("tendon_tool_lists_digest").on("tendon_tool_lists").column("digest").execute();
  await schema
    .createTable("tendon_tokens")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("name", text, (column) => column.notNull())
    .addColumn("hash", key, (column) => column.notNull().unique())
    .addColumn("scopes", text, (column) => column.notNull())
    .addColumn("devices", text)
    .addColumn("created_at", whole, (column) => column.notNull())
    .addColumn("expires_at", whole)
    .addColumn("last_used_at", whole)
    .addColumn("revoked_at", whole)
    .execute();
  await schema
    .createTable("tendon_settings")
    .addColumn("key", key, (column) => column.primaryKey().notNull())
    .addColumn("value", text, (column) => column.notNull())
    .addColumn("changed_at", whole, (column) => column.notNull())
    .execute();
}
