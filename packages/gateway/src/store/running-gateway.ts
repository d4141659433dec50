/**
 * Finds the gateway that runs on a data folder, for commands. The run file (run-file.ts) has its address and is valid
 * only while the gateway runs: a killed gateway leaves the file, and another program on that address must not get the
 * folder's tokens. Commands import this file directly, because they need nothing else of the store and start often.
 */
import fs from "node:fs";
import path from "node:path";
import { openSqliteFile, type SqliteDatabase } from "./sqlite-library.ts";

export const lockFileName = "gateway.lock";
export const runFileName = "gateway.json";

/** The run file of the gateway that runs on the folder, as JSON; `undefined` if none runs. */
export function readRunningGateway(folder: string): string | undefined {
  // The lock first, then the file. A process that takes the lock removes older run files (folder-lock.ts), so a file
  // that is found after the lock was seen belongs to the lock's holder.
  const locked = isFolderLocked(path.join(folder, lockFileName));
  const text = readText(path.join(folder, runFileName));
  if (text === undefined || locked !== false) return text;
  return isMarkedUnlocked(text) ? text : undefined;
}

/**
 * Whether a running process holds the lock. `undefined` if that cannot be determined (a file system without locks, a
 * file of another user); then the run file alone decides. Readers block neither each other nor a starting gateway.
 */
function isFolderLocked(file: string): boolean | undefined {
  if (!fs.existsSync(file)) return false;
  let database: SqliteDatabase | undefined;
  try {
    database = openSqliteFile(file);
    database.exec("pragma busy_timeout = 0");
    database.prepare("pragma user_version").all();
    return false;
  } catch (error) {
    if (isLocked(error)) return true;
    // SQLite reads the content only of an unlocked file.
    return isDamaged(error) ? false : undefined;
  } finally {
    database?.close();
  }
}

export function isLocked(error: unknown): boolean {
  return error instanceof Error && /locked|busy/i.test(error.message);
}

function isDamaged(error: unknown): boolean {
  return error instanceof Error && /not a database|malformed/i.test(error.message);
}

/** The gateway could not get a lock and recorded that. */
function isMarkedUnlocked(text: string): boolean {
  try {
    const { locked } = JSON.parse(text) as { readonly locked?: unknown };
    return locked === false;
  } catch {
    return false;
  }
}

export function readText(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
