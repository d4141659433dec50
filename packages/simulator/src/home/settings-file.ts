import fs from "node:fs";
import path from "node:path";
import { codeOf } from "./file-lock.ts";
import { HomeSettingsError } from "./home-errors.ts";
import { defaultSettings, defaultSettingsText, type HomeSettings } from "./settings.ts";
import { builtIn } from "./tools.ts";

export interface SettingsFileOptions {
  readonly file: string;
  /** What to do if there is no file: write the defaults, use them without writing, or fail. */
  readonly missing: "create" | "defaults" | "fail";
  readonly created?: (file: string) => void;
  /** A tools file, instead of the one that home.yaml names. */
  readonly toolsFile?: string | undefined;
}

export async function loadHomeSettings(options: SettingsFileOptions): Promise<HomeSettings> {
  const settings = await readSettings(options);
  const { toolsFile = fromHere(options.file, settings.toolsFile) } = options;
  if (toolsFile === undefined) return settings;
  const { loadOwnTools } = await import("./own-tools.ts");
  return { ...settings, own: await loadOwnTools(toolsFile, builtIn) };
}

/** A path in home.yaml is relative to its folder. */
function fromHere(file: string, toolsFile: string | undefined): string | undefined {
  if (toolsFile === undefined || path.isAbsolute(toolsFile)) return toolsFile;
  return path.join(path.dirname(file), toolsFile);
}

async function readSettings({ file, missing, created }: SettingsFileOptions): Promise<HomeSettings> {
  const text = read(file);
  if (text === undefined) {
    if (missing === "fail")
      throw new HomeSettingsError(file, [{ key: "", line: undefined, rule: "missing", values: [] }]);
    if (missing === "create" && write(file)) created?.(file);
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
    fs.mkdirSync(path.dirname(file), { recursive: true });
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
