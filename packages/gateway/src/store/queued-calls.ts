/**
 * Calls that wait until their device is online. A row is one call from first to last: `queued`, then `running` before
 * anything is sent, then `ended` with its outcome, and `finished` once the history has it. Every change of a state
 * names the state before it, so that of two nodes only one changes it.
 */
import type { JsonObject } from "@tendon/protocol";
import { CompiledQuery, sql, type UpdateResult } from "kysely";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { fromJson, identifier, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";
import {
  type Added,
  type NewQueuedCall,
  newCallColumns,
  type QueueBounds,
  type QueuedCallEnd,
  type QueuedCallQuery,
  readQueuedCall,
  type StoredQueuedCall,
} from "./queued-call-row.ts";

export class QueuedCalls {
  readonly #db: Database;
  readonly #insert = new BulkStatement<NewQueuedCall>({
    write: (db, rows) =>
      db.insertInto("tendon_queued_calls").values(repeated(rows, newCallColumns)).compile(),
    bind: (call, into) =>
      into.push(
        identifier(call.id, "the call's id"),
        identifier(call.device, "the device's id"),
        call.tool,
        call.principal,
        call.principalName,
        toJson(call.details),
        call.supersedeKey ?? null,
        call.job ?? null,
        "queued",
        call.queuedAt,
        call.expiresAt,
      ),
  });

  /** Compiled once: in a storm it runs for every call. */
  readonly #endSql: string;

  constructor(db: Database) {
    this.#db = db;
    this.#endSql = db
      .updateTable("tendon_queued_calls")
      .set({ run: "", finished_at: 0, outcome: "", ending: "", state: sql.lit("ended") })
      .where("seq", "=", 0)
      .where("state", "=", "")
      // A running call ends by the run that took it.
      .where((eb) => eb.or([eb(eb.val(""), "=", sql.lit("queued")), eb("run", "=", "")]))
      .compile().sql;
  }

  /**
   * Adds calls in order, each if its device and its token have room; `bounds` is undefined if they surely have. Ends the
   * older calls that they replace.
   */
  async add(calls: readonly NewQueuedCall[], bounds: QueueBounds | undefined, run: string): Promise<Added[]> {
    return await atomically(this.#db, async (tx) => {
      const counts = {
        device: bounds === undefined ? new Map<string, number>() : await this.#counts(tx, "device", calls),
        principal:
          bounds === undefined ? new Map<string, number>() : await this.#counts(tx, "principal", calls),
      };
      const added: Added[] = [];
      let accepted: NewQueuedCall[] = [];
      for (const call of calls) {
        let superseded: StoredQueuedCall[] = [];
        if (call.supersedeKey !== undefined) {
          await this.#insert.run(tx, accepted);
          accepted = [];
          superseded = await supersede(tx, call, run);
        }
        const full = (["device", "principal"] as const).find((by) => {
          const count = (counts[by].get(call[by]) ?? 0) - superseded.length;
          counts[by].set(call[by], count);
          return bounds !== undefined && count >= bounds[by];
        });
        if (full !== undefined) {
          added.push({ added: false, full });
          continue;
        }
        for (const by of ["device", "principal"] as const)
          counts[by].set(call[by], (counts[by].get(call[by]) ?? 0) + 1);
        accepted.push(call);
        added.push({ added: true, superseded });
      }
      await this.#insert.run(tx, accepted);
      return added;
    });
  }

  /** Which bound leaves no room for one more call. */
  async isFull(
    of: { readonly device: string; readonly principal: string },
    bounds: QueueBounds,
  ): Promise<keyof QueueBounds | undefined> {
    for (const by of ["device", "principal"] as const) {
      const counts = await this.#counts(this.#db, by, [of]);
      if ((counts.get(of[by]) ?? 0) >= bounds[by]) return by;
    }
    return undefined;
  }

  /** The waiting calls of these devices, in order, at most `each` per device. */
  async waiting(
    devices: readonly string[],
    each: number,
    now: number,
  ): Promise<ReadonlyMap<string, StoredQueuedCall[]>> {
    const found = new Map<string, StoredQueuedCall[]>(devices.map((device) => [device, []]));
    const rows = await this.#db
      .selectFrom("tendon_queued_calls")
      .selectAll()
      .where("device", "in", [...devices])
      .where("state", "=", "queued")
      .where("expires_at", ">", now)
      .orderBy("seq")
      .execute();
    for (const row of rows) {
      const calls = found.get(row.device);
      if (calls !== undefined && calls.length < each) calls.push(readQueuedCall(row));
    }
    return found;
  }

  /** Records calls as running before they are sent. Returns those that nothing else has changed meanwhile. */
  async take(seqs: readonly number[], run: string, now: number): Promise<ReadonlySet<number>> {
    const rows = await this.#db
      .updateTable("tendon_queued_calls")
      .set({ state: "running", run, started_at: now })
      .where("seq", "in", [...seqs])
      .where("state", "=", "queued")
      .where("expires_at", ">", now)
      .returning("seq")
      .execute();
    return new Set(rows.map(({ seq }) => Number(seq)));
  }

  /** A call that was taken but not sent waits again, at its old place. */
  async putBack(seq: number, run: string): Promise<void> {
    await this.#db
      .updateTable("tendon_queued_calls")
      .set({ state: "queued", run: null, started_at: null })
      .where("seq", "=", seq)
      .where("state", "=", "running")
      .where("run", "=", run)
      .execute();
  }

  /** Ends calls. Returns those that nothing else has ended meanwhile. */
  async end(ends: readonly QueuedCallEnd[]): Promise<ReadonlySet<number>> {
    return await atomically(this.#db, async (tx) => {
      const ended = new Set<number>();
      for (const { seq, from, run, finishedAt, outcome, ending } of ends) {
        const values = [run, finishedAt, outcome, toJson(ending), seq, from, from, run];
        const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(this.#endSql, values));
        if (numAffectedRows === 1n) ended.add(seq);
      }
      return ended;
    });
  }

  /** Ends a call of a run of the gateway that has failed. Returns whether nothing else has ended it meanwhile. */
  async endLost(
    call: StoredQueuedCall,
    { run, finishedAt, outcome, ending }: Omit<QueuedCallEnd, "seq" | "from">,
  ): Promise<boolean> {
    const update = this.#db
      .updateTable("tendon_queued_calls")
      .set({ state: "ended", run, finished_at: finishedAt, outcome, ending: toJson(ending) })
      .where("seq", "=", call.seq)
      .where("state", "=", "running")
      .where("run", "=", call.run ?? "");
    return changed(await update.executeTakeFirst());
  }

  /** The history has these calls. */
  async recorded(seqs: readonly number[]): Promise<void> {
    await this.#db
      .updateTable("tendon_queued_calls")
      .set({ state: "finished" })
      .where("seq", "in", [...seqs])
      .where("state", "=", "ended")
      .execute();
  }

  /** This run reports the end of a call whose run has failed. Returns whether nothing else does. */
  async adopt(call: StoredQueuedCall, run: string): Promise<boolean> {
    const update = this.#db
      .updateTable("tendon_queued_calls")
      .set({ run })
      .where("seq", "=", call.seq)
      .where("state", "=", "ended")
      .where("run", "=", call.run ?? "");
    return changed(await update.executeTakeFirst());
  }

  /** The oldest calls in this state. */
  async inState(state: "running" | "ended", limit: number): Promise<StoredQueuedCall[]> {
    const rows = await this.#db
      .selectFrom("tendon_queued_calls")
      .selectAll()
      .where("state", "=", state)
      .orderBy("expires_at")
      .limit(limit)
      .execute();
    return rows.map(readQueuedCall);
  }

  /** Waiting calls that have expired. */
  async expired(now: number, limit: number): Promise<StoredQueuedCall[]> {
    const rows = await this.#db
      .selectFrom("tendon_queued_calls")
      .selectAll()
      .where("state", "=", "queued")
      .where("expires_at", "<=", now)
      .orderBy("expires_at")
      .limit(limit)
      .execute();
    return rows.map(readQueuedCall);
  }

  async find(id: string): Promise<StoredQueuedCall | undefined> {
    const row = await this.#db
      .selectFrom("tendon_queued_calls")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : readQueuedCall(row);
  }

  /** Waiting calls, the oldest first. */
  async list({ device, tool, principal, after, limit }: QueuedCallQuery): Promise<StoredQueuedCall[]> {
    let select = this.#db.selectFrom("tendon_queued_calls").selectAll().where("state", "=", "queued");
    if (device !== undefined) select = select.where("device", "=", device);
    if (tool !== undefined) select = select.where("tool", "=", tool);
    if (principal !== undefined) select = select.where("principal_name", "=", principal);
    if (after !== undefined) select = select.where("seq", ">", after);
    return (await select.orderBy("seq").limit(limit).execute()).map(readQueuedCall);
  }

  async ofJob(job: string): Promise<StoredQueuedCall[]> {
    const rows = await this.#db
      .selectFrom("tendon_queued_calls")
      .selectAll()
      .where("job", "=", job)
      .orderBy("seq")
      .execute();
    return rows.map(readQueuedCall);
  }

  /** All calls that have not ended. */
  async unfinished(): Promise<
    { readonly id: string; readonly device: string; readonly principal: string }[]
  > {
    return await this.#db
      .selectFrom("tendon_queued_calls")
      .select(["id", "device", "principal_name as principal"])
      .where("state", "in", ["queued", "running"])
      .execute();
  }

  /** Changes the details of all calls whose details contain this text; `undefined` leaves them as they are. */
  async changeDetails(
    containing: string,
    change: (details: JsonObject) => JsonObject | undefined,
  ): Promise<void> {
    const rows = await this.#db
      .selectFrom("tendon_queued_calls")
      .select(["seq", "details"])
      .where(sql<boolean>`replace(details, ${containing}, '') <> details`)
      .execute();
    for (const { seq, details } of rows) {
      const changed = change(fromJson<JsonObject>(details));
      if (changed === undefined) continue;
      await this.#db
        .updateTable("tendon_queued_calls")
        .set({ details: toJson(changed) })
        .where("seq", "=", seq)
        .execute();
    }
  }

  async removeOf(device: string): Promise<void> {
    await this.#db.deleteFrom("tendon_queued_calls").where("device", "=", device).execute();
  }

  /** Deletes calls that ended before this time. Returns their number. */
  async prune(olderThan: number, limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_queued_calls")
      .where("seq", "in", (eb) =>
        eb
          .selectFrom("tendon_queued_calls")
          .select("seq")
          .where("finished_at", "<", olderThan)
          .where("state", "=", "finished")
          .orderBy("finished_at")
          .limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  async #counts(
    tx: Database,
    by: "device" | "principal",
    calls: readonly Pick<NewQueuedCall, "device" | "principal">[],
  ): Promise<Map<string, number>> {
    const rows = await tx
      .selectFrom("tendon_queued_calls")
      .select((eb) => [by, eb.fn.countAll().as("count")])
      .where(by, "in", [...new Set(calls.map((call) => call[by]))])
      .where("state", "=", "queued")
      .groupBy(by)
      .execute();
    return new Map(rows.map((row) => [row[by], Number(row.count)]));
  }
}

/** Ends the older call with the same key, device and tool by the same token. */
async function supersede(tx: Database, call: NewQueuedCall, run: string): Promise<StoredQueuedCall[]> {
  const { device, tool, principal, supersedeKey = null, queuedAt } = call;
  const rows = await tx
    .updateTable("tendon_queued_calls")
    .set({
      state: "ended",
      run,
      finished_at: queuedAt,
      outcome: "superseded",
      ending: toJson({ detail: supersededBy(call.id) }),
    })
    .where("device", "=", device)
    .where("state", "=", "queued")
    .where("tool", "=", tool)
    .where("principal", "=", principal)
    .where("supersede_key", "=", supersedeKey)
    .returningAll()
    .execute();
  return rows.map(readQueuedCall);
}

/** The detail of a call that a newer one replaced. */
function supersededBy(id: string): string {
  return `a newer call with the same key replaced it: ${id}`;
}

function changed({ numUpdatedRows }: UpdateResult): boolean {
  return numUpdatedRows > 0n;
}
