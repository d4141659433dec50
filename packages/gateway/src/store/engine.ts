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

/** SQLite answers without ever leaving the thread: long work has to step aside by itself. */
export async function stepAside(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
