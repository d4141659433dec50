import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Who created each token, and the addresses of its creation and its last use. Older tokens have none. */
export async function addTokenOrigins(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { text } = columnTypes(kind);
  for (const column of ["created_by", "created_from", "last_used_from"])
    await tx.schema.alterTable("tendon_tokens").addColumn(column, text).execute();
}
