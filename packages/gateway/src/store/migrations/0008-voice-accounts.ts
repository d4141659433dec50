import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Encrypted credentials of boards for their voice servers. */
export async function createVoiceAccounts(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_voice_accounts")
    .addColumn("device", key, (column) => column.primaryKey().notNull())
    .addColumn("sealed", text, (column) => column.notNull())
    .addColumn("changed_at", whole, (column) => column.notNull())
    .execute();
}
