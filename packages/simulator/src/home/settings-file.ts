import fs from "node:fs";
import { codeOf } from "./file-lock.ts";
import { HomeSettingsError } from "./home-errors.ts";
import { defaultSettings, defaultSettingsText, type HomeSettings } from "./settings.ts";

export interface SettingsFileOptions {
  readonly file: string;
  /** Writes the defaults if there is no file; otherwise they are used without writing. */
  readonly create: boolean;
  readonly created?: (file: string) => void;
}

export async function loadHomeSettings({
  file,
  create,
  created,
}: SettingsFileOptions): Promise<HomeSettings> {
  const text = read(file);
  if (text === undefined) {
    if (create && write(file)) created?.(file);
    return defaultSettings;
  }
  // The defaults need no parser, and loading it takes as long as everything else at the start.
  if (text === defaultSettingsText) return defaultSettings;
  const { parseSettings } = await import("./settings-text.ts");
  return parseSettings(text, file);
}

function read(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw unusable(file, error);
  }
}

/** False if another process created the file first and reported it. */
function write(file: string): boolean {
  try {
    fs.writeFileSync(file, defaultSettingsText, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): HomeSettingsError {
  const reason = error instanceof Error ? error.message : String(error);
  return new HomeSettingsError(file, [{ key: "", line: undefined, rule: "syntax", values: [reason] }]);
}
