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

/** Earlier versions of Node print a warning that their SQLite is experimental. */
const firstStableMajor = 24;

/** Uses Node's own SQLite where it is stable, otherwise the same API from npm. */
export function openSqliteFile(file: string): SqliteDatabase {
  const major = Number.parseInt(process.versions.node, 10);
  const own =
    major < firstStableMajor ? undefined : (process.getBuiltinModule("node:sqlite") as Library | undefined);
  return new (own?.DatabaseSync ?? DatabaseSync)(file);
}
