import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** Calls that wait until their device is online, and the jobs that they belong to. */
export async function createQueuedCalls(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  const { schema } = tx;
  await (kind === "sqlite"
    ? schema.createTable("tendon_queued_calls").addColumn("seq", "integer", (column) => column.primaryKey())
    : schema
        .createTable("tendon_queued_calls")
        .addColumn("seq", "bigint", (column) => column.primaryKey().generatedAlwaysAsIdentity())
  )
    .addColumn("id", key, (column) => column.notNull().unique())
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("tool", text, (column) => column.notNull())
    .addColumn("principal", key, (column) => column.notNull())
    .addColumn("principal_name", text, (column) => column.notNull())
    .addColumn("details", text, (column) => column.notNull())
    .addColumn("supersede_key", key)
    .addColumn("job", key)
    .addColumn("state", key, (column) => column.notNull())
    .addColumn("run", key)
    .addColumn("queued_at", whole, (column) => column.notNull())
    .addColumn("expires_at", whole, (column) => column.notNull())
    .addColumn("started_at", whole)
    .addColumn("finished_at", whole)
    .addColumn("outcome", text)
    .addColumn("ending", text)
    .execute();
  const indexes = {
    device: ["device", "state", "seq"],
    principal: ["principal", "state"],
    expiry: ["state", "expires_at"],
    end: ["finished_at"],
    job: ["job", "seq"],
  } as const;
  for (const [name, columns] of Object.entries(indexes)) {
    await schema
      .createIndex(`tendon_queued_calls_${name}`)
      .on("tendon_queued_calls")
      .columns([...columns])
      .execute();
  }
  await schema
    .createTable("tendon_jobs")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("principal", key, (column) => column.notNull())
    .addColumn("created_at", whole, (column) => column.notNull())
    .addColumn("total", whole, (column) => column.notNull())
    .addColumn("results", text, (column) => column.notNull())
    .execute();
  await schema.createIndex("tendon_jobs_age").on("tendon_jobs").columns(["created_at"]).execute();
}
