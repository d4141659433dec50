/**
 * How SQLite finds the calls of one device: each call names the one before it, and a table names the last. An index
 * by device would have another page of the file written for nearly every call; here only the page that is being filled
 * is, and the few that name the last.
 */
import { sql } from "kysely";
import { BulkInsert } from "./bulk-insert.ts";
import {
  type CallFilter,
  type CallKey,
  type CallRecord,
  callColumns,
  type Step,
  valuesOf,
} from "./call-row.ts";
import { atomically, type Database } from "./engine.ts";
import type { CallsTable } from "./tables.ts";

interface Linked {
  readonly seq: number;
  readonly earlier: number | null;
  readonly call: CallRecord;
}

/** A call that is no longer there. */
interface Gone {
  readonly seq: number;
  readonly device: string;
  readonly earlier: number | null;
}

/** Far more than are ever called at one node between two restarts. */
const headsRemembered = 100_000;
/** The clock may have been set back a little between two calls of a device. */
const clockSlackMs = 60_000;

export class CallLines {
  readonly #calls = new BulkInsert<Linked>({
    write: (db, rows) =>
      db
        .insertInto("tendon_calls")
        .values(repeated(rows, { seq: 0, earlier: null, ...callColumns }))
        .compile(),
    values: ({ seq, earlier, call }) => [seq, earlier, ...valuesOf(call)],
  });
  readonly #lasts = new BulkInsert<readonly [device: string, seq: number]>({
    write: (db, rows) =>
      db
        .insertInto("tendon_last_calls")
        .values(repeated(rows, { device: "", seq: 0 }))
        .onConflict((conflict) =>
          conflict.column("device").doUpdateSet((eb) => ({ seq: eb.ref("excluded.seq") })),
        )
        .compile(),
    values: (last) => last,
  });
  /** The last call of each device, as the table has it. */
  readonly #heads = new Map<string, number>();
  /** The newest call of all, when the above was true. */
  #newest = 0;

  async append(db: Database, calls: readonly CallRecord[]): Promise<void> {
    try {
      await atomically(db, async (tx) => await this.#append(tx, calls));
    } catch (error) {
      this.#heads.clear();
      throw error;
    }
  }

  async #append(tx: Database, calls: readonly CallRecord[]): Promise<void> {
    const newest = await tx
      .selectFrom("tendon_calls")
      .select((eb) => eb.fn.max("seq").as("seq"))
      .executeTakeFirst();
    let seq = Number(newest?.seq ?? 0);
    if (seq !== this.#newest || this.#heads.size > headsRemembered) this.#heads.clear();
    await this.#readHeads(tx, calls);
    const lasts = new Map<string, number>();
    const linked = calls.map((call) => {
      seq += 1;
      const before = this.#heads.get(call.device) ?? 0;
      this.#heads.set(call.device, seq);
      lasts.set(call.device, seq);
      // Numbers begin again only where all calls were forgotten: what was last then is not the one before this.
      return { seq, earlier: before > 0 && before < seq ? before : null, call };
    });
    await this.#calls.run(tx, linked);
    await this.#lasts.run(tx, [...lasts]);
    this.#newest = seq;
  }

  async #readHeads(tx: Database, calls: readonly CallRecord[]): Promise<void> {
    const unknown = new Set<string>();
    for (const { device } of calls) if (!this.#heads.has(device)) unknown.add(device);
    if (unknown.size === 0) return;
    const rows = await tx
      .selectFrom("tendon_last_calls")
      .select(["device", "seq"])
      .where("device", "in", [...unknown])
      .execute();
    for (const { device, seq } of rows) this.#heads.set(device, seq);
  }

  /** The device's calls before this one, newest first, from among the next so many. */
  async step(
    db: Database,
    { device, since = 0, tool, principal, outcome }: CallFilter & { readonly device: string },
    before: CallKey | undefined,
    { looked, wanted }: { readonly looked: number; readonly wanted: number },
  ): Promise<Step> {
    const from = await this.#stepFrom(db, device, before);
    if (from === undefined) return { rows: [], end: undefined };
    const line = sql`
      with recursive line as (
        select * from tendon_calls where seq = ${from} and device = ${device}
        union all
        select older.* from line join tendon_calls as older on older.seq = line.earlier
          and older.device = line.device and older.at >= ${since - clockSlackMs}
        limit ${looked}
      )`;
    const ends = await sql<CallKey>`${line} select at, seq from line limit 1 offset ${looked - 1}`.execute(
      db,
    );
    const rows = await sql<CallsTable & CallKey>`${line} select * from line
      where at >= ${since} and seq < ${before?.seq ?? Number.MAX_SAFE_INTEGER}
        and tool = coalesce(${tool ?? null}, tool) and principal = coalesce(${principal ?? null}, principal)
        and outcome = coalesce(${outcome ?? null}, outcome)
      limit ${wanted}`.execute(db);
    return { rows: rows.rows, end: ends.rows[0] };
  }

  /** From the one before the cursor's; a cursor of another list says only from when on. */
  async #stepFrom(db: Database, device: string, before: CallKey | undefined): Promise<number | undefined> {
    const known =
      before &&
      (await db
        .selectFrom("tendon_calls")
        .select("earlier")
        .where("seq", "=", before.seq)
        .where("device", "=", device)
        .executeTakeFirst());
    if (known !== undefined) return known.earlier ?? undefined;
    const head = await db
      .selectFrom("tendon_last_calls")
      .select("seq")
      .where("device", "=", device)
      .executeTakeFirst();
    return head?.seq;
  }

  /**
   * To be told, inside the same transaction, which calls were removed. They are the oldest of their devices, but for
   * those made while the clock was wrong: where older ones stay, they are linked anew.
   */
  async removed(tx: Database, gone: readonly Gone[]): Promise<void> {
    if (gone.length === 0) return;
    const devices = [...new Set(gone.map(({ device }) => device))];
    const seqs = new Set(gone.map(({ seq }) => seq));
    await tx
      .deleteFrom("tendon_last_calls")
      .where("device", "in", devices)
      .where("seq", "<=", Math.max(...seqs))
      .execute();
    const older = gone.flatMap(({ earlier }) => (earlier === null || seqs.has(earlier) ? [] : [earlier]));
    const left = await tx
      .selectFrom("tendon_calls")
      .select("device")
      .distinct()
      .where("seq", "in", older)
      .execute();
    if (left.length === 0) return;
    this.#heads.clear();
    await linkAnew(
      tx,
      left.map(({ device }) => device),
    );
  }
}

function repeated<Row>(count: number, row: Row): Row[] {
  return Array.from<Row>({ length: count }).fill(row);
}

/** Reads the whole history once. */
async function linkAnew(tx: Database, devices: readonly string[]): Promise<void> {
  await sql`
    update tendon_calls set earlier = linked.before
    from (
      select seq, lag(seq) over (partition by device order by seq) as before
      from tendon_calls where device in (${sql.join(devices)})
    ) as linked
    where linked.seq = tendon_calls.seq`.execute(tx);
  await sql`
    insert or replace into tendon_last_calls (device, seq)
    select device, max(seq) from tendon_calls where device in (${sql.join(devices)}) group by device`.execute(
    tx,
  );
}
