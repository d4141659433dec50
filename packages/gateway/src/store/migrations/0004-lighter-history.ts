import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";

/**
 * Every call pays for each index it is in, and pages of the file for each device it is sorted under. SQLite needs no
 * ids in them: its row numbers are in every index already and tell calls of the same instant apart.
 */
export async function lightenHistory(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  if (kind !== "sqlite") return;
  const { schema } = tx;
  await schema.dropIndex("tendon_calls_newest").execute();
  await schema.dropIndex("tendon_calls_device").execute();
  await schema.createIndex("tendon_calls_newest").on("tendon_calls").column("at").execute();
  await schema.createIndex("tendon_calls_device").on("tendon_calls").columns(["device", "at"]).execute();
}
