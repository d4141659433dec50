import { DatabaseSync } from "@photostructure/sqlite";

export interface SqliteStatement {
  all(...parameters: readonly unknown[]): unknown[];
  run(...parameters: readonly unknown[]): { readonly changes: number | bigint };
  columns(): readonly unknown[];
}

export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface Library {
  readonly DatabaseSync: new (file: string) => SqliteDatabase;
  readonly StatementSync: { readonly prototype: object };
}

/** The runtime's own SQLite where it can do what is needed (Node 22.16 and later), else the same API from npm. */
export function openSqliteFile(file: string): SqliteDatabase {
  const own = process.getBuiltinModule("node:sqlite") as Library | undefined;
  if (own !== undefined && "columns" in own.StatementSync.prototype) return new own.DatabaseSync(file);
  return new DatabaseSync(file);
}
