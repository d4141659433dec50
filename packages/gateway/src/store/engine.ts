/** What the two databases have in common; everything else of this folder is written against this. */
import type { Kysely, Transaction } from "kysely";
import type { Tables } from "./tables.ts";

export type Database = Kysely<Tables>;

export interface Engine {
  readonly kind: "sqlite" | "postgres";
  readonly db: Database;
  /** Where the data is, for messages: without user and password. */
  readonly place: string;
  /** For rows that a power cut may take: written without waiting for the disk where that would hold the process up. */
  relaxed<Result>(work: (db: Database) => Promise<Result>): Promise<Result>;
  /** One transaction that no other process is in at the same time; for migrations. */
  alone<Result>(work: (tx: Transaction<Tables>) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
  /** Leaves at once, where closing takes too long. */
  cut(): void;
}

/** Everything or nothing; inside a transaction that is already open, part of that one. */
export async function atomically<Result>(
  db: Database,
  work: (tx: Database) => Promise<Result>,
): Promise<Result> {
  return db.isTransaction ? await work(db) : await db.transaction().execute(work);
}

/** So many rows are read in one go. */
const pageRows = 5_000;

/** All rows in the order of their key, a page at a time: a large fleet has millions, and holds nothing else up. */
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
    await stepAside();
  }
}

/** SQLite answers without ever leaving the thread: long work has to step aside by itself. */
export async function stepAside(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
