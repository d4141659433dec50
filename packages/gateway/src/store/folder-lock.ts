import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError } from "../errors.ts";
import { openSqliteFile, type SqliteDatabase } from "./sqlite-library.ts";

const FILE_NAME = "gateway.lock";
/** For whoever is just leaving, and for two that start at once: each looks at the other's number for a moment. */
const patienceMs = 500;

/**
 * The embedded database is for one gateway: a second would not hear of tokens revoked at the first. Held by a lock of
 * the operating system on a file of its own, which ends with the process however that ends; gives its release.
 */
export function holdDataFolder(folder: string): () => void {
  const file = path.join(folder, FILE_NAME);
  let database: SqliteDatabase | undefined;
  try {
    makeFile(file);
    database = openSqliteFile(file);
    database.exec(`pragma busy_timeout = ${patienceMs}`);
    database.exec("begin immediate");
    database.exec(`pragma user_version = ${process.pid}`);
    database.exec("commit");
    // Held from here on, and written to no more: others may read who has it.
    database.exec("begin immediate");
  } catch (error) {
    const holder = database === undefined ? undefined : holderIn(database);
    database?.close();
    if (!isHeld(error)) throw new StartError(`${file} cannot be used (${messageOf(error)}).`);
    throw new StartError(
      `${folder} is already used by ${holder === undefined ? "another process" : `process ${holder}`}. ` +
        "Stop that one, or choose another folder with --data.",
    );
  }
  const held = database;
  return () => held.close();
}

/** Only where it is missing: closing a file gives up all locks that this process has on it. */
function makeFile(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

function isHeld(error: unknown): boolean {
  return /locked|busy/i.test(messageOf(error));
}

function holderIn(database: SqliteDatabase): number | undefined {
  try {
    const [row] = database.prepare("pragma user_version").all();
    const { user_version: pid } = row as { readonly user_version: number };
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}
