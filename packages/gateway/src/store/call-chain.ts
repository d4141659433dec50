/**
 * How SQLite finds the calls of one device: each call has the number of the device's call before it, and a table has
 * the last call of each device. An index by device would write one more page of the file for nearly every call.
 */
import { automaticPrefix } from "@tendon/protocol";
import { sql } from "kysely";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import {
  bindCall,
  type CallFilter,
  type CallKey,
  type CallRecord,
  callColumns,
  clockSlackMs,
  type Step,
} from "./call-row.ts";
import { atomically, type Database } from "./engine.ts";
import type { CallsTable } from "./tables.ts";

interface Linked {
  readonly seq: number;
  readonly earlier: number | null;
  readonly call: CallRecord;
}

interface RemovedCall {
  readonly seq: number;
  readonly device: string;
  readonly earlier: number | null;
}

/** Devices whose last call is kept in memory. */
const maxHeads = 100_000;
/** The table of last calls is updated after this many calls, at most this many devices at a time. */
const catchUpAfter = 10_000;
const catchUpBatch = 500;
/** The key of the row that records up to which call the table is complete. No device has it. */
const writtenUpToKey = "";

export class CallChain {
  readonly #calls = new BulkStatement<Linked>({
    write: (db, rows) =>
      db
        .insertInto("tendon_calls")
        .values(repeated(rows, { seq: 0, earlier: null, ...callColumns }))
        .compile(),
    bind({ seq, earlier, call }, into) {
      into.push(seq, earlier);
      bindCall(call, into);
    },
  });
  readonly #lasts = new BulkStatement<string>({
    write: (db, rows) =>
      db
        .insertInto("tendon_last_calls")
        .values(repeated(rows, { device: "", seq: 0 }))
        .onConflict((conflict) =>
          conflict.column("device").doUpdateSet((eb) => ({ seq: eb.ref("excluded.seq") })),
        )
        .compile(),
    bind: (device, into) => into.push(device, this.#heads.get(device) ?? 0),
  });
  /** The last call of each device that was called since the start. */
  readonly #heads = new Map<string, number>();
  /** Devices whose last call is not in the table yet. */
  readonly #unwritten = new Set<string>();
  /** The newest call for which `#heads` is valid; `undefined` if `#heads` may be stale. */
  #newest: number | undefined;
  #writtenUpTo = 0;

  async append(db: Database, calls: readonly CallRecord[]): Promise<void> {
    try {
      await atomically(db, async (tx) => await this.#append(tx, calls));
    } catch (error) {
      this.#newest = undefined;
      throw error;
    }
  }

  async #append(tx: Database, calls: readonly CallRecord[]): Promise<void> {
    let seq = await newestOf(tx);
    if (seq !== this.#newest || this.#heads.size > maxHeads) await this.#catchUp(tx, seq);
    await this.#readHeads(tx, calls);
    const linked = calls.map((call) => {
      seq += 1;
      const before = this.#heads.get(call.device) ?? 0;
      this.#heads.set(call.device, seq);
      this.#unwritten.add(call.device);
      // Numbers restart after retention has deleted all calls. A head from before then is not an earlier call.
      return { seq, earlier: before > 0 && before < seq ? before : null, call };
    });
    await this.#calls.run(tx, linked);
    this.#newest = seq;
    if (seq - this.#writtenUpTo >= catchUpAfter) await this.#writeSome(tx, seq);
  }

  /** In batches: updating the table at once would rewrite all of its pages every few calls. */
  async #writeSome(tx: Database, seq: number): Promise<void> {
    const devices: string[] = [];
    for (const device of this.#unwritten) {
      if (devices.length === catchUpBatch) break;
      devices.push(device);
      this.#unwritten.delete(device);
    }
    await this.#lasts.run(tx, devices);
    if (this.#unwritten.size > 0) return;
    await writeUpTo(tx, seq);
    this.#writtenUpTo = seq;
  }

  /** Completes the table after a restart or a failed transaction. */
  async #catchUp(tx: Database, newest: number): Promise<void> {
    this.#heads.clear();
    this.#unwritten.clear();
    const written = await lastOf(tx, writtenUpToKey);
    // The newest recorded call was deleted, and so were all others.
    const from = written !== undefined && written <= newest ? written : 0;
    await sql`
      insert into tendon_last_calls (device, seq)
      select device, max(seq) from tendon_calls where seq > ${from} group by device
      on conflict (device) do update set seq = excluded.seq`.execute(tx);
    await writeUpTo(tx, newest);
    this.#writtenUpTo = newest;
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

  /** The device's calls before `before`, newest first. Reads at most `looked` rows. */
  async step(
    db: Database,
    { device, since = 0, tool, principal, outcome, automatic }: CallFilter & { readonly device: string },
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
        and (${automatic === false ? 0 : 1} = 1 or substr(principal, 1, ${automaticPrefix.length}) <> ${automaticPrefix})
      limit ${wanted}`.execute(db);
    return { rows: rows.rows, end: ends.rows[0] };
  }

  /** The call before the cursor's. A cursor from another list does not name a call of this device. */
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
    if (this.#newest === undefined) {
      await atomically(db, async (tx) => {
        const newest = await newestOf(tx);
        await this.#catchUp(tx, newest);
        this.#newest = newest;
      });
    }
    return this.#heads.get(device) ?? (await lastOf(db, device));
  }

  /**
   * Updates the chain after calls were deleted in the same transaction. Deleted calls are the oldest of their device,
   * unless the clock was wrong. If older calls remain, the device's calls are linked again.
   */
  async removed(tx: Database, removed: readonly RemovedCall[]): Promise<void> {
    if (removed.length === 0) return;
    const devices = [...new Set(removed.map(({ device }) => device))];
    const seqs = new Set(removed.map(({ seq }) => seq));
    await tx
      .deleteFrom("tendon_last_calls")
      .where("device", "in", devices)
      .where("seq", "<=", Math.max(...seqs))
      .execute();
    const older = removed.flatMap(({ earlier }) => (earlier === null || seqs.has(earlier) ? [] : [earlier]));
    const left = await tx
      .selectFrom("tendon_calls")
      .select("device")
      .distinct()
      .where("seq", "in", older)
      .execute();
    if (left.length === 0) return;
    this.#newest = undefined;
    await relink(
      tx,
      left.map(({ device }) => device),
    );
  }
}

async function newestOf(db: Database): Promise<number> {
  const newest = await db
    .selectFrom("tendon_calls")
    .select((eb) => eb.fn.max("seq").as("seq"))
    .executeTakeFirst();
  return Number(newest?.seq ?? 0);
}

async function lastOf(db: Database, device: string): Promise<number | undefined> {
  const last = await db
    .selectFrom("tendon_last_calls")
    .select("seq")
    .where("device", "=", device)
    .executeTakeFirst();
  return last?.seq;
}

async function writeUpTo(tx: Database, seq: number): Promise<void> {
  await sql`insert or replace into tendon_last_calls (device, seq) values (${writtenUpToKey}, ${seq})`.execute(
    tx,
  );
}

/** Reads the whole history once. */
async function relink(tx: Database, devices: readonly string[]): Promise<void> {
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
