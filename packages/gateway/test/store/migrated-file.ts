import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { systemClock } from "../../src/clock.ts";
import { openSqliteFile } from "../../src/store/sqlite-library.ts";
import { openStore } from "../../src/store/store.ts";

const name = "tendon.db";
let migrated: Promise<Buffer> | undefined;

/**
 * Copies a migrated database file into a data folder, because creating the tables takes a third of a gateway's start.
 */
export async function placeMigratedFile(dataFolder: string): Promise<void> {
  migrated ??= makeFile();
  fs.writeFileSync(path.join(dataFolder, name), await migrated, { mode: 0o600 });
}

async function makeFile(): Promise<Buffer> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-store-"));
  const store = await openStore({ dataFolder: folder, clock: systemClock, onProblem: () => {} });
  await store.close();
  // Closing leaves the tables in the write-ahead log, which is a second file.
  const database = openSqliteFile(path.join(folder, name));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const file = fs.readFileSync(path.join(folder, name));
  fs.rmSync(folder, { recursive: true });
  return file;
}
