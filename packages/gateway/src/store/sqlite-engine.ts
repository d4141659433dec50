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
/** Other processes on the same file: patient while starting, when several migrate; short later, as it blocks. */
const patienceAtStartMs = 5_000;
const patienceMs = 1_000;
/** The history touches the same index pages again and again: each is copied into the file once in 16 MB, not in 4. */
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
    place: file,
    relaxed: async (work) =>
      await db.connection().execute(async (connection) => {
        database.exec("pragma synchronous = normal");
        try {
          return await work(connection);
        } finally {
          database.exec("pragma synchronous = full");
        }
      }),
    alone: async (work) => {
      try {
        return await db.transaction().execute(work);
      } finally {
        database.exec(`pragma busy_timeout = ${patienceMs}`);
      }
    },
    close: async () => await db.destroy(),
    cut() {},
  };
}

/** Full synchronisation is the rule, so that whoever forgets to choose loses nothing even to a power cut. */
async function prepareFile(file: string): Promise<SqliteDatabase> {
  try {
    // Made here for its mode: SQLite gives its companion files the same one.
    fs.closeSync(fs.openSync(file, "a", 0o600));
    const database = openSqliteFile(file);
    try {
      database.exec(`pragma busy_timeout = ${patienceAtStartMs}`);
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
    throw new StartError(`The database ${file} cannot be opened (${messageOf(error)}).`);
  }
}

/** SQLite does not wait for another process that is changing the mode too; real time has to pass, whatever the clock. */
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
