import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Replies to requests with an Idempotency-Key, so that a repeat does not run again on any node. */
export async function createFirstAnswers(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_first_answers")
    .addColumn("principal", key, (column) => column.notNull())
    .addColumn("request_key", key, (column) => column.notNull())
    .addColumn("digest", text, (column) => column.notNull())
    .addColumn("run", text, (column) => column.notNull())
    .addColumn("answer", text)
    .addColumn("expires_at", whole, (column) => column.notNull())
    .addPrimaryKeyConstraint("tendon_first_answers_key", ["principal", "request_key"])
    .execute();
  await tx.schema
    .createIndex("tendon_first_answers_end")
    .on("tendon_first_answers")
    .column("expires_at")
    .execute();
}
