import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** The event numbers in use, and the event of each call, so that a restart neither repeats nor loses a number. */
export async function createEventStreams(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  const { schema } = tx;
  await schema
    .createTable("tendon_event_streams")
    .addColumn("node", key, (column) => column.primaryKey().notNull())
    .addColumn("stream", text, (column) => column.notNull())
    .addColumn("next", whole, (column) => column.notNull())
    .addColumn("forgotten", whole, (column) => column.notNull())
    .execute();
  await schema.alterTable("tendon_calls").addColumn("event", whole).execute();
}
