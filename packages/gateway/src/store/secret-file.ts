import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError } from "../errors.ts";

export interface SecretFile {
  readonly secret: string;
  readonly file: string;
  readonly isNew: boolean;
}

/** A secret that only the owner of the data folder can read: made at the first start, found by later ones. */
export function readOrMakeSecret(dataFolder: string, name: string): SecretFile {
  return readOrMake(dataFolder, name, () => randomBytes(24).toString("base64url"));
}

/** What this gateway is called among those that share a database: it belongs to the data folder, not to the machine. */
export function readOrMakeNodeId(dataFolder: string): string {
  return readOrMake(dataFolder, "node-id", () => randomBytes(6).toString("hex")).secret;
}

function readOrMake(dataFolder: string, name: string, make: () => string): SecretFile {
  const file = path.join(dataFolder, name);
  const known = read(file);
  if (known !== undefined) return { secret: known, file, isNew: false };
  const secret = make();
  try {
    // `wx`: of two first starts at once, one makes the secret and the other reads it.
    fs.writeFileSync(file, `${secret}\n`, { mode: 0o600, flag: "wx" });
    return { secret, file, isNew: true };
  } catch (error) {
    const made = read(file);
    if (made !== undefined) return { secret: made, file, isNew: false };
    throw new StartError(`${file} cannot be written (${messageOf(error)}).`);
  }
}

function read(file: string): string | undefined {
  try {
    const secret = fs.readFileSync(file, "utf8").trim();
    return secret === "" ? undefined : secret;
  } catch {
    return undefined;
  }
}
