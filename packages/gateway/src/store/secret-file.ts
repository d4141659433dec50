/**
 * Secrets that only the owner of the data folder can read: made at the first start, found by later ones. They are
 * written whole under another name and then given their own, so that a crash leaves no half of one; what is found and
 * can be no secret of ours stops the start, since a new one would shut out whoever came in with the old one.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError } from "../errors.ts";

export interface SecretFile {
  readonly secret: string;
  readonly file: string;
  readonly isNew: boolean;
}

/** As many characters as TENDON_TOKEN must have; ours have twice as many. */
const shortestSecret = 16;

/** An empty file is one that was begun and never used: it is made anew. */
export function readOrMakeSecret(dataFolder: string, name: string): SecretFile {
  const found = readOrMake(dataFolder, name, () => randomBytes(24).toString("base64url"));
  if (found.secret.length >= shortestSecret) return found;
  throw new StartError(
    `${found.file} has ${found.secret.length} characters, and a secret needs ${shortestSecret} or more. Put the ` +
      "right one back, from a back-up. If there is none, remove the file: the next start makes a new secret, and " +
      "what came in with the old one has to be let in again.",
  );
}

/** What this gateway is called among those that share a database: it belongs to the data folder, not to the machine. */
export function readOrMakeNodeId(dataFolder: string): string {
  return readOrMake(dataFolder, "node-id", () => randomBytes(6).toString("hex")).secret;
}

/** Whether the file is there and has nothing in it. */
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
    throw new StartError(`${file} cannot be written (${messageOf(error)}).`);
  }
  const theirs = read(file);
  if (theirs === undefined || theirs === "")
    throw new StartError(`${file} is written by somebody else just now.`);
  return { secret: theirs, file, isNew: false };
}

/** Says whether ours is there now; of two first starts at once, one makes the secret and the other reads it. */
function write(file: string, text: string, overEmpty: boolean): boolean {
  const draft = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(draft, text, { mode: 0o600, flush: true });
    if (overEmpty) {
      fs.renameSync(draft, file);
      return true;
    }
    return giveName(draft, file, text);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** A link takes no name that somebody has; where the file system has none, the name is taken while writing. */
function giveName(draft: string, file: string, text: string): boolean {
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

/** `undefined` where there is none; a file that is there and cannot be read stops the start. */
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
