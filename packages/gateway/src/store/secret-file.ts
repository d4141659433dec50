/**
 * Secrets that only the owner of the data folder can read, created at the first start. Each is written under a
 * temporary name and then linked, so that a crash leaves no partial file. An invalid file stops the start, because a
 * new secret would invalidate all credentials that were made with the old one.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError, storageRemedy } from "../errors.ts";

export interface SecretFile {
  readonly secret: string;
  readonly file: string;
  readonly isNew: boolean;
}

/** The minimum of TENDON_TOKEN. Generated secrets have 32 characters. */
const shortestSecret = 16;

/** An empty file was never used, so a new secret replaces it. */
export function readOrMakeSecret(dataFolder: string, name: string): SecretFile {
  const found = readOrMake(dataFolder, name, () => randomBytes(24).toString("base64url"));
  if (found.secret.length >= shortestSecret) return found;
  throw new StartError(
    `${found.file} has ${found.secret.length} characters; a secret needs at least ${shortestSecret}. Restore the file ` +
      "from a backup. Without a backup, remove the file: the next start creates a new secret, and credentials that " +
      "depend on the old one must be issued again.",
  );
}

/** Identifies this node among those that share a database. It belongs to the data folder, not to the machine. */
export function readOrMakeNodeId(dataFolder: string): string {
  return readOrMake(dataFolder, "node-id", () => randomBytes(6).toString("hex")).secret;
}

/** Whether the file exists and is empty. */
export function isEmptySecret(dataFolder: string, name: string): boolean {
  return read(path.join(dataFolder, name)) === "";
}

function readOrMake(dataFolder: string, name: string, make: () => string): SecretFile {
  const file = path.join(dataFolder, name);
  const known = read(file);
  if (known !== undefined && known !== "") return { secret: known, file, isNew: false };
  const secret = make();
  try {
    if (write(file, `${secret}\n`, known === "")) return { secret, file, isNew: true };
  } catch (error) {
    throw new StartError(`${file} cannot be written (${messageOf(error)}). ${storageRemedy(error)}.`);
  }
  const existing = read(file);
  if (existing === undefined || existing === "")
    throw new StartError(
      `${file} is being written by another process. Start again when that process has finished.`,
    );
  return { secret: existing, file, isNew: false };
}

/** Returns whether our secret was written. Of two concurrent first starts, one writes it and the other reads it. */
function write(file: string, text: string, overEmpty: boolean): boolean {
  const draft = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(draft, text, { mode: 0o600, flush: true });
    if (overEmpty) {
      fs.renameSync(draft, file);
      return true;
    }
    return linkExclusively(draft, file, text);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** A link never replaces an existing file. A file system without links gets an exclusive write instead. */
function linkExclusively(draft: string, file: string, text: string): boolean {
  try {
    fs.linkSync(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
  }
  try {
    fs.writeFileSync(file, text, { mode: 0o600, flag: "wx", flush: true });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** `undefined` if the file does not exist. An unreadable file stops the start. */
function read(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new StartError(`${file} cannot be read (${messageOf(error)}).`);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
