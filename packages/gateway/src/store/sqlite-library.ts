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
}

/** Before it, the runtime says with every start that its own SQLite may change at any time. */
const firstSettledMajor = 24;

/** The runtime's own SQLite where that is settled, else the same API from npm. */
export function openSqliteFile(file: string): SqliteDatabase {
  const major = Number.parseInt(process.versions.node, 10);
  const own =
    major < firstSettledMajor ? undefined : (process.getBuiltinModule("node:sqlite") as Library | undefined);
  return new (own?.DatabaseSync ?? DatabaseSync)(file);
}
