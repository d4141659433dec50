import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, StartError, storageRemedy } from "../errors.ts";
import { isLocked, lockFileName, runFileName } from "./running-gateway.ts";
import { openSqliteFile, type SqliteDatabase, SqliteMissing } from "./sqlite-library.ts";

/** Covers a gateway that is stopping, two that start at once, and commands, which hold the lock briefly. */
const busyTimeoutMs = 500;

export interface LockedFolder {
  /** If true, commands treat the run file as stale once no process holds the lock. */
  readonly locked: boolean;
  release(): void;
}

/**
 * Locks the folder by an operating-system lock on a file, which ends with the process. Only one gateway may use a folder:
 * a second one would not learn about tokens that the first revoked, and would take its identity and its run file. With
 * PostgreSQL a file system without locks is accepted.
 */
export function lockDataFolder(folder: string, storage: string): LockedFolder {
  const file = path.join(folder, lockFileName);
  let database: SqliteDatabase | undefined;
  try {
    makeFile(file);
    database = openSqliteFile(file);
    database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    database.exec("begin immediate");
    // Before readers see the lock: they would take the run file of a killed gateway for ours.
    fs.rmSync(path.join(folder, runFileName), { force: true });
    database.exec(`pragma user_version = ${process.pid}`);
    database.exec("commit");
    // Exclusive from here on: commands detect the lock because it excludes readers too.
    database.exec("begin exclusive");
  } catch (error) {
    database?.close();
    const inUse = isLocked(error);
    if (!inUse && storage !== "sqlite:") return { locked: false, release: () => undefined };
    if (error instanceof SqliteMissing) throw new StartError(error.message);
    if (!inUse)
      throw new StartError(
        `${file} cannot be locked (${messageOf(error)}). ${storageRemedy(error)}, or choose another folder with --data.`,
      );
    const holder = holderIn(file);
    throw new StartError(
      `${folder} is already used by ${holder === undefined ? "another process" : `process ${holder}`}. ` +
        "Stop it, or choose another folder with --data.",
    );
  }
  const lock = database;
  return { locked: true, release: () => lock.close() };
}

/** Only if it is missing: closing a file releases all locks of this process on it. */
function makeFile(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** Reads past the lock through SQLite, because closing a file by hand would release this process's own lock. */
function holderIn(file: string): number | undefined {
  let database: SqliteDatabase | undefined;
  try {
    database = openSqliteFile(`${pathToFileURL(file).href}?immutable=1`);
    const [row] = database.prepare("pragma user_version").all();
    const { user_version: pid } = row as { readonly user_version: number };
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  } finally {
    database?.close();
  }
}
