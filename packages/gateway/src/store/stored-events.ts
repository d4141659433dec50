import { randomBytes } from "node:crypto";
import { isAuditOf } from "@tendon/protocol";
import type { Buffers } from "./buffers.ts";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { fromJson, identifier, optional, toJson } from "./codec.ts";
import { atomically, type Database, type Engine } from "./engine.ts";
import { noteForgotten } from "./forgotten-events.ts";
import { StoreError } from "./store-error.ts";
import type { WriteBuffer } from "./write-buffer.ts";

/** An event as it is stored for clients that resume. */
export interface StoredEvent {
  /** Each node numbers the events of its own stream. */
  readonly stream: string;
  readonly sequence: number;
  readonly type: string;
  readonly at: number;
  readonly device: string | undefined;
  readonly data: unknown;
}

/** Event numbers that are reserved for one run of one node. */
interface EventNumbers {
  readonly stream: string;
  readonly first: number;
}

interface Written extends Omit<StoredEvent, "data"> {
  readonly data: string;
}

const delayMs = 50;
const maxRows = 20_000;
const maxBytes = 32 * 1024 * 1024;
const rowBytes = 200;

export class StoredEvents {
  readonly #db: Database;
  readonly #buffer: WriteBuffer<Written>;

  constructor(engine: Engine, buffers: Buffers) {
    this.#db = engine.db;
    const insert = eventInsert();
    this.#buffer = buffers.make<Written>({
      what: "events",
      delayMs,
      maxRows,
      maxBytes,
      bytesOf: ({ data }) => rowBytes + data.length,
      write: async (rows) => await engine.relaxed(async (db) => await insert.run(db, rows)),
    });
  }

  /**
   * Reserves the next `count` numbers of a node. The reservation is durable before the first number is used, so a run
   * after a kill repeats none.
   */
  async reserve(node: string, count: number): Promise<EventNumbers> {
    const row = await this.#db
      .insertInto("tendon_event_streams")
      .values({
        node: identifier(node, "the node"),
        stream: randomBytes(4).toString("hex"),
        next: count + 1,
        forgotten: 0,
      })
      .onConflict((conflict) =>
        conflict.column("node").doUpdateSet((eb) => ({ next: eb("tendon_event_streams.next", "+", count) })),
      )
      .returning(["stream", "next"])
      .executeTakeFirst();
    if (row === undefined) throw new StoreError("unavailable", "the database returned no event numbers");
    return { stream: row.stream, first: row.next - count };
  }

  /** Returns at once. The event is written soon, in a batch. */
  append(event: StoredEvent): void {
    this.#buffer.push({ ...event, data: toJson(event.data ?? null) });
  }

  /** The newest number of this stream that may be missing; `undefined` for an unknown stream. */
  async forgotten(stream: string): Promise<number | undefined> {
    const row = await this.#db
      .selectFrom("tendon_event_streams")
      .select("forgotten")
      .where("stream", "=", stream)
      .executeTakeFirst();
    return row?.forgotten;
  }

  /** The stored events between two numbers, both excluded, in order. */
  async between(stream: string, after: number, before: number, limit: number): Promise<StoredEvent[]> {
    await this.#buffer.flush();
    const rows = await this.#db
      .selectFrom("tendon_events")
      .selectAll()
      .where("stream", "=", stream)
      .where("sequence", ">", after)
      .where("sequence", "<", before)
      .orderBy("sequence")
      .limit(limit)
      .execute();
    return rows.map((row) => ({
      stream: row.stream,
      sequence: row.sequence,
      type: row.type,
      at: row.at,
      device: optional(row.device),
      data: fromJson<unknown>(row.data),
    }));
  }

  async removeOf(device: string): Promise<void> {
    await this.#buffer.flush();
    await this.#db.deleteFrom("tendon_events").where("device", "=", device).execute();
    // Events of the audit belong to no device, but may be about it. The text is only a first selection.
    const audited = await this.#db
      .selectFrom("tendon_events")
      .select(["stream", "sequence", "data"])
      .where("type", "=", "audit.recorded")
      .where("data", "like", `%${device}%`)
      .execute();
    for (const { stream, sequence, data } of audited) {
      if (!isAuditOf(device, fromJson<unknown>(data))) continue;
      await this.#db
        .deleteFrom("tendon_events")
        .where("stream", "=", stream)
        .where("sequence", "=", sequence)
        .execute();
    }
  }

  /** One step of retention for every stream. Returns the number of deleted events. */
  async prune(olderThan: number, keepRows: number, limit: number): Promise<number> {
    const streams = await this.#db.selectFrom("tendon_events").select("stream").distinct().execute();
    let deleted = 0;
    for (const { stream } of streams) {
      const end = await this.#lastExpired(stream, olderThan, keepRows);
      if (end === undefined) continue;
      deleted += await atomically(this.#db, async (tx) => await pruneUpTo(tx, stream, end, limit));
    }
    return deleted;
  }

  async #lastExpired(stream: string, olderThan: number, keepRows: number): Promise<number | undefined> {
    const surplus = await this.#db
      .selectFrom("tendon_events")
      .select("sequence")
      .where("stream", "=", stream)
      .orderBy("sequence", "desc")
      .offset(keepRows)
      .limit(1)
      .executeTakeFirst();
    const aged = await this.#db
      .selectFrom("tendon_events")
      .select((eb) => eb.fn.max("sequence").as("sequence"))
      .where("stream", "=", stream)
      .where("at", "<", olderThan)
      .executeTakeFirst();
    const end = Math.max(surplus?.sequence ?? 0, Number(aged?.sequence ?? 0));
    return end === 0 ? undefined : end;
  }
}

async function pruneUpTo(tx: Database, stream: string, end: number, limit: number): Promise<number> {
  const expired = await tx
    .selectFrom("tendon_events")
    .select("sequence")
    .where("stream", "=", stream)
    .where("sequence", "<=", end)
    .orderBy("sequence")
    .limit(limit)
    .execute();
  const last = expired.at(-1)?.sequence;
  if (last === undefined) return 0;
  await tx.deleteFrom("tendon_events").where("stream", "=", stream).where("sequence", "<=", last).execute();
  await noteForgotten(tx, { stream }, last);
  return expired.length;
}

function eventInsert(): BulkStatement<Written> {
  const empty = { stream: "", sequence: 0, type: "", at: 0, device: null, data: "" };
  return new BulkStatement<Written>({
    write: (db, rows) =>
      db
        .insertInto("tendon_events")
        .values(repeated(rows, empty))
        .onConflict((conflict) => conflict.columns(["stream", "sequence"]).doNothing())
        .compile(),
    bind({ stream, sequence, type, at, device, data }, into) {
      into.push(stream, sequence, type, at, device ?? null, data);
    },
  });
}
