import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** One-time codes of the console, so that a code works on every node. */
export async function createSignInCodes(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_sign_in_codes")
    .addColumn("key", key, (column) => column.primaryKey().notNull())
    .addColumn("principal", key, (column) => column.notNull())
    .addColumn("credential", text, (column) => column.notNull())
    .addColumn("expires_at", whole, (column) => column.notNull())
    .execute();
}
