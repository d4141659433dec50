import { createRequire } from "node:module";

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

/** Neither Node nor the installation has SQLite. */
export class SqliteMissing extends Error {}

let library: Library | undefined;

/** Uses Node's own SQLite where it is stable, otherwise the same API from npm. */
export function openSqliteFile(file: string): SqliteDatabase {
  library ??= findLibrary();
  return new library.DatabaseSync(file);
}

function findLibrary(): Library {
  const major = Number.parseInt(process.versions.node, 10);
  const own = major < firstStableMajor ? undefined : process.getBuiltinModule("node:sqlite");
  if (own !== undefined) return own as unknown as Library;
  try {
    // Loaded on demand: installations for Node 24 or newer may leave this package out.
    return createRequire(import.meta.url)("@photostructure/sqlite") as Library;
  } catch (error) {
    throw new SqliteMissing(
      `Node ${process.versions.node} needs the package @photostructure/sqlite. Install Tendon again without --omit=optional, ` +
        "or use Node 24 or newer.",
      { cause: error },
    );
  }
}
