import type { Clock } from "../clock.ts";
import { StartError } from "../errors.ts";
import type { Engine } from "./engine.ts";
import { type Migration, migrations } from "./migrations/migrations.ts";

/** Updates the tables to the newest version. Safe if several processes do so at the same time. */
export async function updateSchema(
  engine: Engine,
  clock: Clock,
  known: readonly Migration[] = migrations,
): Promise<void> {
  await engine.exclusive(async (tx) => {
    await tx.schema
      .createTable("tendon_schema")
      .ifNotExists()
      .addColumn("version", "integer", (column) => column.primaryKey().notNull())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("applied_at", "bigint", (column) => column.notNull())
      .execute();
    const last = await tx
      .selectFrom("tendon_schema")
      .select((eb) => eb.fn.max("version").as("version"))
      .executeTakeFirst();
    const version = Number(last?.version ?? 0);
    if (version > known.length) throw tooNew(version, known.length);
    for (const [index, { name, run }] of known.entries()) {
      if (index < version) continue;
      await run(tx, engine.kind);
      await tx
        .insertInto("tendon_schema")
        .values({ version: index + 1, name, applied_at: clock.now() })
        .execute();
    }
  });
}

function tooNew(found: number, known: number): StartError {
  return new StartError(
    `The database was created by a newer version of Tendon: its schema is version ${found}, this version supports up to ${known}.`,
    ["Start the newer version, or choose another database with --data or `storage`."],
  );
}
