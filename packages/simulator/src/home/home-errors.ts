import { SimulatorError } from "../errors.ts";
import type { Parameter } from "./parameters.ts";

export type HomeCallErrorCode =
  | "tool_unknown"
  | "light_unknown"
  | "scene_unknown"
  | "tool_failed"
  | "argument_missing"
  | "argument_invalid";

export interface HomeCallDetails {
  /** The unknown name, or the invalid argument. */
  readonly name?: string;
  /** The known names. */
  readonly known?: readonly string[];
  /** What the invalid argument must be. */
  readonly parameter?: Parameter;
}

/** A rejected call. The message is the protocol's Spanish text, which clients compare. */
export class HomeCallError extends SimulatorError {
  declare readonly code: HomeCallErrorCode;
  readonly details: HomeCallDetails;

  constructor(code: HomeCallErrorCode, message: string, details: HomeCallDetails = {}) {
    super(code, message);
    this.details = details;
  }
}

export type HomeStateErrorCode = "state_unreadable" | "state_unwritable" | "state_newer" | "state_locked";

/** The file with the home's state is not accessible. Nothing was changed. */
export class HomeStateError extends SimulatorError {
  declare readonly code: HomeStateErrorCode;
  readonly file: string;

  constructor(code: HomeStateErrorCode, file: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.file = file;
  }
}

export type SettingsRule =
  | "syntax"
  | "missing"
  | "path"
  | "unknown_key"
  | "mapping"
  | "flag"
  | "name"
  | "names"
  | "lights"
  | "feature"
  | "number"
  | "light_unknown"
  | "climate_off";

export interface SettingsProblem {
  /** The path of the key, such as `scenes.noche.lights.salon`; empty for the whole file. */
  readonly key: string;
  readonly line: number | undefined;
  readonly rule: SettingsRule;
  /** Values for the message: the known keys, the bounds of a number, or the parser's message. */
  readonly values: readonly string[];
}

/** home.yaml is invalid; every problem names its key and line. */
export class HomeSettingsError extends SimulatorError {
  readonly file: string;
  readonly problems: readonly SettingsProblem[];

  constructor(file: string, problems: readonly SettingsProblem[]) {
    super("home_settings_invalid", problems.map((problem) => describe(file, problem)).join("\n"));
    this.file = file;
    this.problems = problems;
  }
}

function describe(file: string, { key, line, rule, values }: SettingsProblem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return key === ""
    ? `${place}: ${sentence(rule, values)}`
    : `${place}: \`${key}\` ${sentence(rule, values)}`;
}

function sentence(rule: SettingsRule, values: readonly string[]): string {
  const listed = values.join(", ");
  switch (rule) {
    case "syntax":
      return listed;
    case "missing":
      return "does not exist; check the path, or let it be created with the defaults (`init`)";
    case "path":
      return "must be the path of a tools file";
    case "unknown_key":
      return `is not a setting; known here are ${listed}`;
    case "mapping":
      return "must have keys and values";
    case "flag":
      return "must be true or false";
    case "name":
      return "must be a name of 1 to 64 characters on one line";
    case "names":
      return `must be a list of at most ${listed} different names`;
    case "lights":
      return `must be a list of at most ${listed} different names, or names with true or false`;
    case "feature":
      return `must be a list of some of ${listed}`;
    case "number":
      return `must be a number from ${values.join(" to ")}`;
    case "light_unknown":
      return `is not one of the lights; those are ${listed}`;
    case "climate_off":
      return "needs `climate` in `features`";
  }
}
