import { limits } from "@tendon/protocol";
import type { ExpressionBuilder, SelectQueryBuilder } from "kysely";
import { timeOfCallId } from "../call-ids.ts";
import type { Buffers } from "./buffers.ts";
import { CallLines } from "./call-lines.ts";
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
import { toJson } from "./codec.ts";
import { atomically, type Database, type Engine, stepAside } from "./engine.ts";
import { noteForgotten } from "./forgotten-events.ts";
import type { Tables } from "./tables.ts";
import type { WriteBuffer } from "./write-buffer.ts";

export interface CallQuery extends CallFilter {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  /** Which devices whoever asks may know of. */
  readonly visible?: ((device: string) => boolean) | undefined;
}

export interface CallPage {
  readonly calls: readonly CallRecord[];
  /** There may be more; a page can be short of its limit when much had to be passed over. */
  readonly nextCursor: string | undefined;
}

/** What is counted of a call. */
export type EndedCall = Pick<CallRecord, "at" | "tool" | "outcome" | "durationMs">;

/** Half of what may be lost by kill -9, so that the writing itself has time too. */
const delayMs = 50;
const maxRows = 50_000;
const maxBytes = 32 * 1024 * 1024;
const rowBytes = 400;
const longestCallMs = limits.callTimeoutMs.max;
const defaultPage = 100;
const largestPage = 1_000;
/** Rows looked at in one statement, and statements for one page: a rare outcome must not hold the process up. */
const stepRows = 2_000;
const steps = 50;
/** Rows fetched at once where some may not be shown. */
const sievedRows = 500;

type Doomed = SelectQueryBuilder<Tables, "tendon_calls", { seq: number }>;

export class Calls {
  readonly #db: Database;
  readonly #lines: CallLines | undefined;
  readonly #buffer: WriteBuffer<CallRecord>;

  constructor(engine: Engine, buffers: Buffers) {
    this.#db = engine.db;
    const lines = engine.kind === "sqlite" ? new CallLines() : undefined;
    this.#lines = lines;
    const insert = callInsert();
    this.#buffer = buffers.make<CallRecord>({
      what: "call history",
      delayMs,
      maxRows,
      maxBytes,
      bytesOf: ({ arguments: args }) => rowBytes + (typeof args === "string" ? args.length : 0),
      write: async (rows) =>
        await engine.relaxed(async (db) => await (lines?.append(db, rows) ?? insert.run(db, rows))),
    });
  }

  /** Returns at once; the row is written soon, with others. */
  append(call: CallRecord): void {
    // As text from here on: the caller may change its arguments, and the bound has to know their size.
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
      const wanted = query.visible === undefined ? limit - calls.length + 1 : sievedRows;
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
      await stepAside();
    }
    return { calls, nextCursor: before && writeCursor(before) };
  }

  /** By its id, which tells when it was asked: it ended then or not long after. */
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

  /**
   * Calls whose events have numbers between these two, both excluded, in any order; `undefined` when there are more
   * than `limit`. They are found from the newest back: they were written in the order of their numbers.
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
      await stepAside();
    }
    return undefined;
  }

  /**
   * Gives every call that ended in a span of time, the newest first, in bounded steps. Resolves with the time from which
   * on they were all given: the beginning of the span, or later where there are more than `limit`.
   */
  async endedIn(
    { since, before, limit }: { readonly since: number; readonly before: number; readonly limit: number },
    take: (call: EndedCall) => void,
  ): Promise<number> {
    let last: CallKey | undefined;
    for (let given = 0; given < limit; ) {
      const wanted = Math.min(stepRows, limit - given);
      const rows = await this.#walk({ since }, last)
        .select(["at", "seq", "tool", "outcome", "duration_ms"])
        .where("at", "<", before)
        .limit(wanted)
        .execute();
      for (const { at, tool, outcome, duration_ms: durationMs } of rows)
        take({ at, tool, outcome, durationMs });
      if (rows.length < wanted) return since;
      given += rows.length;
      last = rows.at(-1);
      await stepAside();
    }
    return last?.at ?? before;
  }

  /** One step of retention; says how many rows went. */
  async forget(olderThan: number, keepRows: number, limit: number): Promise<number> {
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

  async #remove(which: (eb: ExpressionBuilder<Tables, "tendon_calls">) => Doomed): Promise<number> {
    return await atomically(this.#db, async (tx) => {
      const gone = await tx.deleteFrom("tendon_calls").where("seq", "in", which).returningAll().execute();
      const newest = new Map<string, number>();
      for (const { node, event } of gone)
        if (node !== null && event !== null) newest.set(node, Math.max(event, newest.get(node) ?? 0));
      for (const [node, event] of newest) await noteForgotten(tx, { node }, event);
      await this.#lines?.removed(tx, gone);
      return gone.length;
    });
  }

  async #newestBelow(seq: number | undefined) {
    let select = this.#db.selectFrom("tendon_calls").selectAll().orderBy("seq", "desc").limit(stepRows);
    if (seq !== undefined) select = select.where("seq", "<", seq);
    return await select.execute();
  }

  /** The next rows that were asked for, of as many as may be looked at in one go. */
  async #step(query: CallQuery, before: CallKey | undefined, wanted: number): Promise<Step> {
    const { device } = query;
    if (this.#lines !== undefined && device !== undefined)
      return await this.#lines.step(this.#db, { ...query, device }, before, { looked: stepRows, wanted });
    const end = await this.#stepEnd(query, before);
    return { rows: await this.#rows(query, before, end, wanted), end };
  }

  /** The last key this step may look at; none when the step reaches the end. */
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
    return await select.execute();
  }

  /** What an index can find, in its order. */
  #walk(query: CallQuery, before: CallKey | undefined) {
    let select = this.#db.selectFrom("tendon_calls").orderBy("at", "desc").orderBy("seq", "desc");
    if (query.device !== undefined) select = select.where("device", "=", query.device);
    if (query.since !== undefined) select = select.where("at", ">=", query.since);
    if (before !== undefined)
      select = select.where((eb) => eb(eb.refTuple("at", "seq"), "<", eb.tuple(before.at, before.seq)));
    return select;
  }
}
