import type { Buffers } from "./buffers.ts";
import { BulkInsert } from "./bulk-insert.ts";
import { fromJson, optional, toJson } from "./codec.ts";
import type { Database, Engine } from "./engine.ts";
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

interface Written extends Omit<StoredEvent, "data"> {
  readonly data: string;
}

const delayMs = 50;
const maxRows = 20_000;
const maxBytes = 32 * 1024 * 1024;
const rowBytes = 200;
const defaultLimit = 1_000;

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

  /** Returns at once; the event is written soon, with others. */
  append(event: StoredEvent): void {
    this.#buffer.push({ ...event, data: toJson(event.data ?? null) });
  }

  /** The number to go on from after a restart; 0 for a stream that is new. */
  async last(stream: string): Promise<number> {
    await this.#buffer.flush();
    const row = await this.#db
      .selectFrom("tendon_events")
      .select((eb) => eb.fn.max("sequence").as("sequence"))
      .where("stream", "=", stream)
      .executeTakeFirst();
    return Number(row?.sequence ?? 0);
  }

  /** What came after this number, in order; `undefined` when some of that is no longer kept. */
  async since(stream: string, sequence: number, limit = defaultLimit): Promise<StoredEvent[] | undefined> {
    await this.#buffer.flush();
    const rows = await this.#db
      .selectFrom("tendon_events")
      .selectAll()
      .where("stream", "=", stream)
      .where("sequence", ">=", sequence)
      .orderBy("sequence")
      .limit(limit + 1)
      .execute();
    const [first, ...rest] = rows;
    const later = first?.sequence === sequence ? rest : rows.slice(0, limit);
    const known = first !== undefined && first.sequence <= sequence + 1;
    if (!known && !(first === undefined && sequence === 0)) return undefined;
    return later.map((row) => ({
      stream: row.stream,
      sequence: row.sequence,
      type: row.type,
      at: row.at,
      device: optional(row.device),
      data: fromJson<unknown>(row.data),
    }));
  }

  /** One step of retention for every stream; says how many went. */
  async forget(keepRows: number, limit: number): Promise<number> {
    const streams = await this.#db
      .selectFrom("tendon_events")
      .select((eb) => ["stream", eb.fn.max("sequence").as("last"), eb.fn.min("sequence").as("first")])
      .groupBy("stream")
      .execute();
    let gone = 0;
    for (const { stream, first, last } of streams) {
      const end = Math.min(Number(last) - keepRows, Number(first) + limit - 1);
      if (end < Number(first)) continue;
      const { numDeletedRows } = await this.#db
        .deleteFrom("tendon_events")
        .where("stream", "=", stream)
        .where("sequence", "<=", end)
        .executeTakeFirst();
      gone += Number(numDeletedRows);
    }
    return gone;
  }
}

function eventInsert(): BulkInsert<Written> {
  const empty = { stream: "", sequence: 0, type: "", at: 0, device: null, data: "" };
  return new BulkInsert<Written>({
    write: (db, rows) =>
      db
        .insertInto("tendon_events")
        .values(Array.from<typeof empty>({ length: rows }).fill(empty))
        .onConflict((conflict) => conflict.columns(["stream", "sequence"]).doNothing())
        .compile(),
    values: ({ stream, sequence, type, at, device, data }) => [
      stream,
      sequence,
      type,
      at,
      device ?? null,
      data,
    ],
  });
}
