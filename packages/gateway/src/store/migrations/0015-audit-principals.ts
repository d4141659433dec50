import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** The id of the principal of each audit entry, because two tokens may have the same name. Older entries have none. */
export async function addAuditPrincipals(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { text } = columnTypes(kind);
  await tx.schema.alterTable("tendon_audit").addColumn("principal_id", text).execute();
}
