import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, StartError } from "../errors.ts";
import { isLocked, lockFileName, runFileName } from "./living-gateway.ts";
import { openSqliteFile, type SqliteDatabase } from "./sqlite-library.ts";

/** For whoever is just leaving, for two that start at once, and for commands, which look at the lock for a moment. */
const patienceMs = 500;

export interface HeldFolder {
  /** Commands may then take its word for stale once nobody holds the lock. */
  readonly locked: boolean;
  release(): void;
}

/**
 * Held by a lock of the operating system on a file of its own, which ends with the process however that ends. The
 * embedded database is for one gateway: a second would not hear of tokens revoked at the first. On another database
 * the lock only tells commands that this gateway lives, and it goes without where there is none to be had.
 */
export function holdDataFolder(folder: string, storage: string): HeldFolder {
  const file = path.join(folder, lockFileName);
  let database: SqliteDatabase | undefined;
  try {
    makeFile(file);
    database = openSqliteFile(file);
    database.exec(`pragma busy_timeout = ${patienceMs}`);
    database.exec("begin immediate");
    // Before the first moment in which a reader sees the lock: the word of a killed gateway would pass for ours.
    fs.rmSync(path.join(folder, runFileName), { force: true });
    database.exec(`pragma user_version = ${process.pid}`);
    database.exec("commit");
    // Held from here on, against readers too: that is how commands see it.
    database.exec("begin exclusive");
  } catch (error) {
    database?.close();
    if (storage !== "sqlite:") return { locked: false, release: () => undefined };
    if (!isLocked(error)) throw new StartError(`${file} cannot be used (${messageOf(error)}).`);
    const holder = holderIn(file);
    throw new StartError(
      `${folder} is already used by ${holder === undefined ? "another process" : `process ${holder}`}. ` +
        "Stop that one, or choose another folder with --data.",
    );
  }
  const held = database;
  return { locked: true, release: () => held.close() };
}

/** Only where it is missing: closing a file gives up all locks that this process has on it. */
function makeFile(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** Read past the lock. By the library: a file closed by hand would give up a lock that this very process has. */
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
