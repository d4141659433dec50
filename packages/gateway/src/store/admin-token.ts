import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError } from "../errors.ts";

export interface AdminToken {
  readonly token: string;
  readonly file: string;
  readonly isNew: boolean;
}

const FILE_NAME = "admin-token";

/** The first start makes a token that only its owner can read; later starts find it. */
export function readOrMakeAdminToken(dataFolder: string): AdminToken {
  const file = path.join(dataFolder, FILE_NAME);
  const known = read(file);
  if (known !== undefined) return { token: known, file, isNew: false };
  const token = randomBytes(24).toString("base64url");
  try {
    // `wx`: of two first starts at once, one makes the token and the other reads it.
    fs.writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
    return { token, file, isNew: true };
  } catch (error) {
    const made = read(file);
    if (made !== undefined) return { token: made, file, isNew: false };
    throw new StartError(`The admin token cannot be written to ${file} (${messageOf(error)}).`);
  }
}

function read(file: string): string | undefined {
  try {
    const token = fs.readFileSync(file, "utf8").trim();
    return token === "" ? undefined : token;
  } catch {
    return undefined;
  }
}
