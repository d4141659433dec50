import { automaticPrefix, type CallAsker, limits } from "@tendon/protocol";
import { type ExpressionBuilder, type SelectQueryBuilder, sql } from "kysely";
import { timeOfCallId } from "../call-ids.ts";
import type { Buffers } from "./buffers.ts";
import { CallChain } from "./call-chain.ts";
import {
  type CallFilter,
  type CallKey,
  type CallRecord,
  callInsert,
  clockSlackMs,
  readCall,
  readCursor,
  type Step,
  writeCursor,
} from "./call-row.ts";
import { fromJson, toJson } from "./codec.ts";
import { atomically, type Database, type Engine, yieldToEventLoop } from "./engine.ts";
import { noteForgotten } from "./forgotten-events.ts";
import type { Tables } from "./tables.ts";
import type { WriteBuffer } from "./write-buffer.ts";

export interface CallQuery extends CallFilter {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  /** Which devices the principal may see. */
  readonly visible?: ((device: string) => boolean) | undefined;
}

export interface CallPage {
  readonly calls: readonly CallRecord[];
  /** Set if there may be more calls. A page can have fewer calls than its limit if many rows did not match. */
  readonly nextCursor: string | undefined;
}

export type FinishedCall = Pick<CallRecord, "at" | "tool" | "principal" | "outcome" | "durationMs">;

/** Half of the 100 ms that kill -9 may lose; the other half is for the write itself. */
const delayMs = 50;
const maxRows = 50_000;
const maxBytes = 32 * 1024 * 1024;
const rowBytes = 400;
const longestCallMs = limits.callTimeoutMs.max;
const defaultPage = 100;
const largestPage = 1_000;
/** Rows read in one statement, and statements for one page. They bound the work of a filter that rarely matches. */
const stepRows = 2_000;
const steps = 50;
/** Rows that one step of a removal looks at. */
const removalRows = 10_000;
/** Rows per read if `visible` filters them. */
const filteredRows = 500;

type ExpiredCalls = SelectQueryBuilder<Tables, "tendon_calls", { seq: number }>;

export class Calls {
  readonly #db: Database;
  readonly #chain: CallChain | undefined;
  readonly #buffer: WriteBuffer<CallRecord>;

  constructor(engine: Engine, buffers: Buffers) {
    this.#db = engine.db;
    const chain = engine.kind === "sqlite" ? new CallChain() : undefined;
    this.#chain = chain;
    const insert = callInsert();
    this.#buffer = buffers.make<CallRecord>({
      what: "call history",
      delayMs,
      maxRows,
      maxBytes,
      bytesOf: ({ arguments: args }) => rowBytes + (typeof args === "string" ? args.length : 0),
      write: async (rows) =>
        await engine.relaxed(async (db) => await (chain?.append(db, rows) ?? insert.run(db, rows))),
    });
  }

  /** Returns at once. The row is written soon, in a batch. */
  append(call: CallRecord): void {
    // Serialised now: the caller may change the arguments, and the buffer's byte limit needs their size.
    const { arguments: args } = call;
    this.#buffer.push(args === undefined ? call : { ...call, arguments: toJson(args) });
  }

  /** Newest first. */
  async query(query: CallQuery): Promise<CallPage> {
    await this.#buffer.flush();
    const limit = Math.min(Math.max(query.limit ?? defaultPage, 1), largestPage);
    const { visible = () => true } = query;
    const calls: CallRecord[] = [];
    let last: CallKey | undefined;
    let before = query.cursor === undefined ? undefined : readCursor(query.cursor);
    for (let step = 0; step < steps; step += 1) {
      const wanted = query.visible === undefined ? limit - calls.length + 1 : filteredRows;
      const { rows, end } = await this.#step(query, before, wanted);
      for (const row of rows) {
        if (!visible(row.device)) continue;
        if (calls.length === limit) return { calls, nextCursor: last && writeCursor(last) };
        calls.push(readCall(row));
        last = row;
      }
      const lastRow = rows.at(-1);
      const cutShort = rows.length === wanted && lastRow !== undefined;
      if (!cutShort && end === undefined) return { calls, nextCursor: undefined };
      before = cutShort ? { at: lastRow.at, seq: lastRow.seq } : end;
      await yieldToEventLoop();
    }
    return { calls, nextCursor: before && writeCursor(before) };
  }

  /** Finds a call by its id. The id contains the time of the request, which bounds the time of the end. */
  async find(id: string): Promise<CallRecord | undefined> {
    const askedAt = timeOfCallId(id);
    if (askedAt === undefined) return undefined;
    await this.#buffer.flush();
    const row = await this.#db
      .selectFrom("tendon_calls")
      .selectAll()
      .where("at", ">=", askedAt - clockSlackMs)
      .where("at", "<=", askedAt + longestCallMs + clockSlackMs)
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : readCall(row);
  }

  /** Whether the history has the call with this id that ended at this time. */
  async has(id: string, at: number): Promise<boolean> {
    await this.#buffer.flush();
    const row = await this.#db
      .selectFrom("tendon_calls")
      .select("id")
      .where("at", "=", at)
      .where("id", "=", id)
      .executeTakeFirst();
    return row !== undefined;
  }

  /**
   * Calls whose events have numbers between `after` and `before`, both excluded, in any order. `undefined` if there
   * are more than `limit`. Reads from the newest back, because calls are written in the order of their event numbers.
   */
  async eventsBetween(
    node: string,
    after: number,
    before: number,
    limit: number,
  ): Promise<CallRecord[] | undefined> {
    const found: CallRecord[] = [];
    let below: number | undefined;
    for (let step = 0; step < steps; step += 1) {
      const rows = await this.#newestBelow(below);
      for (const row of rows) {
        if (row.node !== node || row.event === null || row.event >= before) continue;
        if (row.event <= after) return found;
        if (found.length === limit) return undefined;
        found.push(readCall(row));
      }
      if (rows.length < stepRows) return found;
      below = rows.at(-1)?.seq;
      await yieldToEventLoop();
    }
    return undefined;
  }

  /**
   * Passes every call that ended in a time span to `take`, newest first, in bounded steps. Resolves with the time since
   * which the calls are complete: the start of the span, or later if there are more than `limit`.
   */
  async finishedIn(
    { since, before, limit }: { readonly since: number; readonly before: number; readonly limit: number },
    take: (call: FinishedCall) => void,
  ): Promise<number> {
    let last: CallKey | undefined;
    for (let given = 0; given < limit; ) {
      const wanted = Math.min(stepRows, limit - given);
      const rows = await this.#walk({ since }, last)
        .select(["at", "seq", "tool", "principal", "outcome", "duration_ms"])
        .where("at", "<", before)
        .limit(wanted)
        .execute();
      for (const { at, tool, principal, outcome, duration_ms: durationMs } of rows)
        take({ at, tool, principal, outcome, durationMs });
      if (rows.length < wanted) return since;
      given += rows.length;
      last = rows.at(-1);
      await yieldToEventLoop();
    }
    return last?.at ?? before;
  }

  /** Deletes all calls of a device, in steps. Events of other devices can still be resumed. */
  async removeOf(device: string): Promise<void> {
    await this.#inSteps(async (tx, from, end) => {
      const deleted = await tx
        .deleteFrom("tendon_calls")
        .where("device", "=", device)
        .where("seq", ">=", from)
        .where("seq", "<", end)
        .returningAll()
        .execute();
      await this.#chain?.removed(tx, deleted);
    });
  }

  /** Clears the askers that match, in steps. The calls stay. */
  async eraseAskers(matches: (asker: CallAsker) => boolean): Promise<void> {
    await this.#inSteps(async (tx, from, end) => {
      const rows = await tx
        .selectFrom("tendon_calls")
        .select(["seq", "asker"])
        .where("asker", "is not", null)
        .where("seq", ">=", from)
        .where("seq", "<", end)
        .execute();
      const found = rows.filter(({ asker }) => asker !== null && matches(fromJson<CallAsker>(asker)));
      for (const { seq } of found)
        await tx.updateTable("tendon_calls").set({ asker: null }).where("seq", "=", seq).execute();
    });
  }

  /** Runs a change of the whole history as bounded transactions, each for the numbers from `from` to before `end`. */
  async #inSteps(change: (tx: Database, from: number, end: number) => Promise<void>): Promise<void> {
    await this.#buffer.flush();
    const { first, last } = await this.#db
      .selectFrom("tendon_calls")
      .select((eb) => [eb.fn.min("seq").as("first"), eb.fn.max("seq").as("last")])
      .executeTakeFirstOrThrow();
    for (let from = Number(first ?? 0); from <= Number(last ?? -1); from += removalRows) {
      await atomically(this.#db, async (tx) => await change(tx, from, from + removalRows));
      await yieldToEventLoop();
    }
  }

  /** One step of retention. Returns the number of deleted rows. */
  async prune(olderThan: number, keepRows: number, limit: number): Promise<number> {
    const newest = await this.#db
      .selectFrom("tendon_calls")
      .select((eb) => eb.fn.max("seq").as("seq"))
      .executeTakeFirst();
    const end = Number(newest?.seq ?? 0) - keepRows;
    const byNumber = await this.#remove((eb) =>
      eb.selectFrom("tendon_calls").select("seq").where("seq", "<=", end).orderBy("seq").limit(limit),
    );
    const byAge = await this.#remove((eb) =>
      eb.selectFrom("tendon_calls").select("seq").where("at", "<", olderThan).orderBy("at").limit(limit),
    );
    return byNumber + byAge;
  }

  async #remove(which: (eb: ExpressionBuilder<Tables, "tendon_calls">) => ExpiredCalls): Promise<number> {
    return await atomically(this.#db, async (tx) => {
      const deleted = await tx.deleteFrom("tendon_calls").where("seq", "in", which).returningAll().execute();
      const newest = new Map<string, number>();
      for (const { node, event } of deleted)
        if (node !== null && event !== null) newest.set(node, Math.max(event, newest.get(node) ?? 0));
      for (const [node, event] of newest) await noteForgotten(tx, { node }, event);
      await this.#chain?.removed(tx, deleted);
      return deleted.length;
    });
  }

  async #newestBelow(seq: number | undefined) {
    let select = this.#db.selectFrom("tendon_calls").selectAll().orderBy("seq", "desc").limit(stepRows);
    if (seq !== undefined) select = select.where("seq", "<", seq);
    return await select.execute();
  }

  /** The matching rows among the next `stepRows`. */
  async #step(query: CallQuery, before: CallKey | undefined, wanted: number): Promise<Step> {
    const { device } = query;
    if (this.#chain !== undefined && device !== undefined)
      return await this.#chain.step(this.#db, { ...query, device }, before, { looked: stepRows, wanted });
    const end = await this.#stepEnd(query, before);
    return { rows: await this.#rows(query, before, end, wanted), end };
  }

  /** The last key that this step may read; `undefined` if the step reaches the end. */
  async #stepEnd(query: CallQuery, before: CallKey | undefined): Promise<CallKey | undefined> {
    return await this.#walk(query, before)
      .select(["at", "seq"])
      .offset(stepRows - 1)
      .limit(1)
      .executeTakeFirst();
  }

  async #rows(query: CallQuery, before: CallKey | undefined, end: CallKey | undefined, limit: number) {
    let select = this.#walk(query, before).selectAll().limit(limit);
    if (end !== undefined)
      select = select.where((eb) => eb(eb.refTuple("at", "seq"), ">=", eb.tuple(end.at, end.seq)));
    for (const column of ["tool", "principal", "outcome"] as const) {
      const value = query[column];
      if (value !== undefined) select = select.where(column, "=", value);
    }
    if (query.automatic === false)
      select = select.where(
        sql<boolean>`substr(principal, 1, ${automaticPrefix.length}) <> ${automaticPrefix}`,
      );
    return await select.execute();
  }

  /** Only conditions that an index serves, in the order of the index. */
  #walk(query: CallQuery, before: CallKey | undefined) {
    let select = this.#db.selectFrom("tendon_calls").orderBy("at", "desc").orderBy("seq", "desc");
    if (query.device !== undefined) select = select.where("device", "=", query.device);
    if (query.since !== undefined) select = select.where("at", ">=", query.since);
    if (before !== undefined)
      select = select.where((eb) => eb(eb.refTuple("at", "seq"), "<", eb.tuple(before.at, before.seq)));
    return select;
  }
}
