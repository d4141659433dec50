import fs from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Clock } from "../clock.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Database, Engine } from "./engine.ts";
import type { Health } from "./health.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { openSqliteFile, type SqliteDatabase } from "./sqlite-library.ts";
import type { Tables } from "./tables.ts";

const FILE_NAME = "tendon.db";
/** Waits for other processes on the file: long at the start, when several may migrate; short later, as it blocks. */
const startBusyTimeoutMs = 5_000;
const busyTimeoutMs = 1_000;
/** The history changes the same index pages often. A checkpoint every 16 MB, not 4, copies each page less often. */
const checkpointPages = 4_000;
const cacheKb = 16 * 1024;
const walAttempts = 50;
const walPauseMs = 100;

export async function openSqlite(dataFolder: string, health: Health, clock: Clock): Promise<Engine> {
  const file = path.join(dataFolder, FILE_NAME);
  const database = await prepareFile(file);
  const db: Database = new Kysely<Tables>({
    dialect: {
      createDriver: () => new SqliteDriver(database, health, clock),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
  });
  return {
    kind: "sqlite",
    db,
    location: file,
    relaxed: async (work) =>
      await db.connection().execute(async (connection) => {
        database.exec("pragma synchronous = normal");
        try {
          return await work(connection);
        } finally {
          database.exec("pragma synchronous = full");
        }
      }),
    exclusive: async (work) => {
      try {
        return await db.transaction().execute(work);
      } finally {
        database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
      }
    },
    close: async () => await db.destroy(),
    terminate() {},
  };
}

/** Full synchronisation is the default, so that a power failure loses nothing unless `relaxed` is used. */
async function prepareFile(file: string): Promise<SqliteDatabase> {
  try {
    // Created here to set its mode. SQLite gives its companion files the same mode.
    fs.closeSync(fs.openSync(file, "a", 0o600));
    const database = openSqliteFile(file);
    try {
      database.exec(`pragma busy_timeout = ${startBusyTimeoutMs}`);
      await useWriteAheadLog(database);
      database.exec("pragma synchronous = full");
      database.exec(`pragma wal_autocheckpoint = ${checkpointPages}`);
      database.exec(`pragma cache_size = -${cacheKb}`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw new StartError(
      `The database ${file} cannot be opened (${messageOf(error)}). Restore it from a backup, or choose another folder with --data.`,
    );
  }
}

/** SQLite does not wait for another process that changes the mode too. The pause needs real time. */
async function useWriteAheadLog(database: SqliteDatabase): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      database.exec("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (!/locked|busy/i.test(messageOf(error)) || attempt === walAttempts) throw error;
      await pause(walPauseMs);
    }
  }
}
