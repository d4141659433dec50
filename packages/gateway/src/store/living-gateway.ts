/**
 * Which gateway runs on a data folder, for commands: its word where it listens (run-file.ts) counts only while it lives.
 * A killed one leaves its word behind, and its address may be somebody else's by now, who must not be shown the
 * folder's tokens. Entered by the commands directly: they need nothing else of the store, and start often.
 */
import fs from "node:fs";
import path from "node:path";
import { openSqliteFile, type SqliteDatabase } from "./sqlite-library.ts";

export const lockFileName = "gateway.lock";
export const runFileName = "gateway.json";

/** What the gateway that runs on the folder says of itself, as JSON; `undefined` where none does. */
export function readLivingGateway(folder: string): string | undefined {
  // First the lock, then the word: whoever takes the lock has removed the words of those before (folder-lock.ts), so
  // that one found after it was seen held is the holder's own.
  const held = isHeld(path.join(folder, lockFileName));
  const word = readText(path.join(folder, runFileName));
  if (word === undefined || held !== false) return word;
  return saysUnlocked(word) ? word : undefined;
}

/**
 * Whether a living process holds the folder; `undefined` where that cannot be known (a file system without locks, a
 * file of another user's): the word alone counts there. Readers keep neither one another nor a starting gateway out.
 */
function isHeld(file: string): boolean | undefined {
  if (!fs.existsSync(file)) return false;
  let database: SqliteDatabase | undefined;
  try {
    database = openSqliteFile(file);
    database.exec("pragma busy_timeout = 0");
    database.prepare("pragma user_version").all();
    return false;
  } catch (error) {
    if (isLocked(error)) return true;
    // What is in the file is read only where nobody holds it, whatever it is.
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

/** The gateway itself could get no lock, and said so. */
function saysUnlocked(word: string): boolean {
  try {
    const { locked } = JSON.parse(word) as { readonly locked?: unknown };
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
