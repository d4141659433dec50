import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";

/**
 * Smaller indexes make inserts cheaper. SQLite needs no ids in them: every index already contains the row number,
 * which orders calls of the same millisecond.
 */
export async function lightenHistory(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  if (kind !== "sqlite") return;
  const { schema } = tx;
  await schema.dropIndex("tendon_calls_newest").execute();
  await schema.dropIndex("tendon_calls_device").execute();
  await schema.createIndex("tendon_calls_newest").on("tendon_calls").column("at").execute();
  await schema.createIndex("tendon_calls_device").on("tendon_calls").columns(["device", "at"]).execute();
}
