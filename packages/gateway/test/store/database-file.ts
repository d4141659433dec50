import { openSqliteFile } from "../../src/store/sqlite-library.ts";

/** Makes a SQLite database of SQL text. */
export function writeDatabase(file: string, sql: string): void {
  const database = openSqliteFile(file);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
