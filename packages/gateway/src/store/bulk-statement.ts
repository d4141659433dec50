/**
 * Runs one statement for many rows of one shape in one transaction. It compiles a few statements once and reuses them,
 * because compiling a statement for every number of rows costs more than running it.
 */
import { CompiledQuery } from "kysely";
import type { Bound } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";

const statementRows = [250, 50, 10, 1] as const;

export interface BulkStatementSettings<Row> {
  /** The statement for this number of rows, with one parameter per column and row. */
  readonly write: (db: Database, rows: number) => { readonly sql: string };
  /** Adds the row's parameters. */
  readonly bind: (row: Row, into: Bound[]) => void;
  /** Adds the row's parameters of a second list, which follows the first. */
  readonly bindAgain?: (row: Row, into: Bound[]) => void;
}

export class BulkStatement<Row> {
  readonly #settings: BulkStatementSettings<Row>;
  readonly #statements = new Map<number, string>();

  constructor(settings: BulkStatementSettings<Row>) {
    this.#settings = settings;
  }

  async run(db: Database, rows: readonly Row[]): Promise<void> {
    await this.read(db, rows);
  }

  /** For a statement that reads or returns rows. */
  async read<Result>(db: Database, rows: readonly Row[]): Promise<Result[]> {
    const results: Result[] = [];
    await atomically(db, async (tx) => {
      let at = 0;
      for (const size of statementRows) {
        while (rows.length - at >= size) {
          const query = CompiledQuery.raw(this.#statement(tx, size), this.#values(rows, at, size));
          const { rows: read } = await tx.executeQuery(query);
          // Safe: the caller names what its statement returns.
          results.push(...(read as Result[]));
          at += size;
        }
      }
    });
    return results;
  }

  #statement(db: Database, size: number): string {
    const known = this.#statements.get(size);
    if (known !== undefined) return known;
    const { sql } = this.#settings.write(db, size);
    this.#statements.set(size, sql);
    return sql;
  }

  #values(rows: readonly Row[], from: number, size: number): Bound[] {
    const { bind, bindAgain } = this.#settings;
    const values: Bound[] = [];
    const part = rows.slice(from, from + size);
    for (const row of part) bind(row, values);
    if (bindAgain !== undefined) for (const row of part) bindAgain(row, values);
    return values;
  }
}

/** Placeholder rows, from which a statement is compiled. */
export function repeated<Columns>(count: number, columns: Columns): Columns[] {
  return Array.from<Columns>({ length: count }).fill(columns);
}
