/** The interface of both databases. The other files of this module use only this. */
import type { Kysely, Transaction } from "kysely";
import type { Tables } from "./tables.ts";

export type Database = Kysely<Tables>;

export interface Engine {
  readonly kind: "sqlite" | "postgres";
  readonly db: Database;
  /** Where the data is, for messages; without user and password. */
  readonly location: string;
  /** For rows that a power failure may lose. SQLite does not wait for the disk, because that blocks the process. */
  relaxed<Result>(work: (db: Database) => Promise<Result>): Promise<Result>;
  /** One transaction that excludes other processes; for migrations. */
  exclusive<Result>(work: (tx: Transaction<Tables>) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
  /** Drops the connections at once, if `close` takes too long. */
  terminate(): void;
}

/** Runs `work` in a transaction, or in the open one. */
export async function atomically<Result>(
  db: Database,
  work: (tx: Database) => Promise<Result>,
): Promise<Result> {
  return db.isTransaction ? await work(db) : await db.transaction().execute(work);
}

const pageRows = 5_000;

/** All rows in the order of their key, one page at a time, so that millions of rows do not block the event loop. */
export async function* pagesOf<Row>(
  read: (after: string, limit: number) => Promise<readonly Row[]>,
  keyOf: (row: Row) => string,
): AsyncGenerator<readonly Row[]> {
  for (let after = ""; ; ) {
    const rows = await read(after, pageRows);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = keyOf(last);
    await yieldToEventLoop();
  }
}

/** SQLite runs synchronously, so long work must yield explicitly. */
export async function yieldToEventLoop(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
