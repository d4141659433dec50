import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError, storageRemedy } from "../errors.ts";

/** Creates the folder if it is missing and checks that it is writable. */
export function openDataFolder(folder: string): string {
  const full = path.resolve(folder);
  try {
    fs.mkdirSync(full, { recursive: true, mode: 0o700 });
    fs.accessSync(full, fs.constants.R_OK | fs.constants.W_OK);
  } catch (error) {
    throw new StartError(
      `The data folder ${full} cannot be used (${messageOf(error)}). ${storageRemedy(error)}, or choose another with --data.`,
    );
  }
  return full;
}
