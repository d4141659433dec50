import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Sessions of the console, so that a restart does not sign people out. */
export async function createConsoleSessions(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_console_sessions")
    .addColumn("key", key, (column) => column.primaryKey().notNull())
    .addColumn("principal", key, (column) => column.notNull())
    .addColumn("credential", text, (column) => column.notNull())
    .addColumn("opened_at", whole, (column) => column.notNull())
    .addColumn("used_at", whole, (column) => column.notNull())
    .execute();
}
