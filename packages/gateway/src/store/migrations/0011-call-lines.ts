import { sql, type Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";

/**
 * An index by device costs a page write for nearly every call. In SQLite each call refers to the device's call before
 * it instead. PostgreSQL keeps its index: it writes in the background, and several nodes write at once.
 */
export async function linkCalls(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  if (kind !== "sqlite") return;
  await tx.schema.alterTable("tendon_calls").addColumn("earlier", "integer").execute();
  await sql`create table tendon_last_calls (device text primary key not null, seq integer not null) without rowid`.execute(
    tx,
  );
  await sql`
    update tendon_calls set earlier = linked.before
    from (select seq, lag(seq) over (partition by device order by seq) as before from tendon_calls) as linked
    where linked.seq = tendon_calls.seq`.execute(tx);
  await sql`insert into tendon_last_calls (device, seq) select device, max(seq) from tendon_calls group by device`.execute(
    tx,
  );
  // The row with the empty name records up to which call the table is complete.
  await sql`insert into tendon_last_calls (device, seq) select '', coalesce(max(seq), 0) from tendon_calls`.execute(
    tx,
  );
  await tx.schema.dropIndex("tendon_calls_device").execute();
}
