import { randomBytes } from "node:crypto";
import type { Buffers } from "./buffers.ts";
import { BulkInsert, repeated } from "./bulk-insert.ts";
import { fromJson, identifier, optional, toJson } from "./codec.ts";
import { atomically, type Database, type Engine } from "./engine.ts";
import { noteForgotten } from "./forgotten-events.ts";
import { StoreError } from "./store-error.ts";
import type { WriteBuffer } from "./write-buffer.ts";

/** An event as it is kept for those who come back and ask what they missed. */
export interface StoredEvent {
  /** Whoever numbers: each node its own. */
  readonly stream: string;
  readonly sequence: number;
  readonly type: string;
  readonly at: number;
  readonly device: string | undefined;
  readonly data: unknown;
}

/** Numbers that one run of one node may give to its events, and nobody else. */
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
   * The next `count` numbers of a node, on the disk as taken before the first is used: a run that is killed leaves
   * some unused, and the run after it repeats none.
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
    if (row === undefined) throw new StoreError("unavailable", "no numbers were given for events");
    return { stream: row.stream, first: row.next - count };
  }

  /** Returns at once; the event is written soon, with others. */
  append(event: StoredEvent): void {
    this.#buffer.push({ ...event, data: toJson(event.data ?? null) });
  }

  /** The newest number of this stream that may be missing; `undefined` for a stream that is not known. */
  async forgotten(stream: string): Promise<number | undefined> {
    const row = await this.#db
      .selectFrom("tendon_event_streams")
      .select("forgotten")
      .where("stream", "=", stream)
      .executeTakeFirst();
    return row?.forgotten;
  }

  /** What is kept between two numbers, both excluded, in order. */
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

  /** One step of retention for every stream; says how many went. */
  async forget(olderThan: number, keepRows: number, limit: number): Promise<number> {
    const streams = await this.#db.selectFrom("tendon_events").select("stream").distinct().execute();
    let gone = 0;
    for (const { stream } of streams) {
      const end = await this.#lastDoomed(stream, olderThan, keepRows);
      if (end === undefined) continue;
      gone += await atomically(this.#db, async (tx) => await forgetUpTo(tx, stream, end, limit));
    }
    return gone;
  }

  async #lastDoomed(stream: string, olderThan: number, keepRows: number): Promise<number | undefined> {
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

async function forgetUpTo(tx: Database, stream: string, end: number, limit: number): Promise<number> {
  const doomed = await tx
    .selectFrom("tendon_events")
    .select("sequence")
    .where("stream", "=", stream)
    .where("sequence", "<=", end)
    .orderBy("sequence")
    .limit(limit)
    .execute();
  const last = doomed.at(-1)?.sequence;
  if (last === undefined) return 0;
  await tx.deleteFrom("tendon_events").where("stream", "=", stream).where("sequence", "<=", last).execute();
  await noteForgotten(tx, { stream }, last);
  return doomed.length;
}

function eventInsert(): BulkInsert<Written> {
  const empty = { stream: "", sequence: 0, type: "", at: 0, device: null, data: "" };
  return new BulkInsert<Written>({
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
