/**
 * Many rows of one shape, in one transaction, by a handful of statements that are made once: writing a new statement
 * for every number of rows would cost more than storing them.
 */
import { CompiledQuery } from "kysely";
import type { Bound } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";

const statementRows = [250, 50, 10, 1] as const;

export interface BulkInsertSettings<Row> {
  /** The statement's text for so many rows, with a parameter for each column of each. */
  readonly write: (db: Database, rows: number) => { readonly sql: string };
  /** Adds the row's parameters. */
  readonly bind: (row: Row, into: Bound[]) => void;
}

export class BulkInsert<Row> {
  readonly #settings: BulkInsertSettings<Row>;
  readonly #statements = new Map<number, string>();

  constructor(settings: BulkInsertSettings<Row>) {
    this.#settings = settings;
  }

  async run(db: Database, rows: readonly Row[]): Promise<void> {
    await atomically(db, async (tx) => {
      let at = 0;
      for (const size of statementRows) {
        while (rows.length - at >= size) {
          await tx.executeQuery(CompiledQuery.raw(this.#statement(tx, size), this.#values(rows, at, size)));
          at += size;
        }
      }
    });
  }

  #statement(db: Database, size: number): string {
    const known = this.#statements.get(size);
    if (known !== undefined) return known;
    const { sql } = this.#settings.write(db, size);
    this.#statements.set(size, sql);
    return sql;
  }

  #values(rows: readonly Row[], from: number, size: number): Bound[] {
    const values: Bound[] = [];
    for (let at = from; at < from + size; at += 1) {
      const row = rows[at];
      if (row !== undefined) this.#settings.bind(row, values);
    }
    return values;
  }
}

/** For writing a statement: so many rows of these columns. */
export function repeated<Columns>(count: number, columns: Columns): Columns[] {
  return Array.from<Columns>({ length: count }).fill(columns);
}
