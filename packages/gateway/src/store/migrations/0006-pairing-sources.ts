import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** The source of a pairing, so that one host cannot take all codes, and the time of its proof. */
export async function addPairingSources(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, whole } = columnTypes(kind);
  const { schema } = tx;
  await schema
    .alterTable("tendon_pairings")
    .addColumn("source", key, (column) => column.notNull().defaultTo(""))
    .execute();
  await schema.alterTable("tendon_pairings").addColumn("proven_at", whole).execute();
  await schema.createIndex("tendon_pairings_source").on("tendon_pairings").column("source").execute();
}
