/** Texts of the home commands: Spanish where LC_ALL, LC_MESSAGES or LANG selects it, otherwise English. */

import { english } from "./home-texts-en.ts";
import { spanish } from "./home-texts-es.ts";
import type { HomeCallError, HomeNotice, HomeStateError, SettingsProblem } from "./simulated-home.ts";

/** The feature in home.yaml that adds a tool. Tools that are not listed here are always available. */
const featureOfTool: Readonly<Record<string, string>> = {
  get_presence_history: "presence",
  get_climate: "climate",
  set_thermostat: "climate",
  activate_scene: "scenes",
  list_scenes: "scenes",
};

export interface HomeWords {
  readonly lights: string;
  readonly alarm: string;
  readonly presence: string;
  readonly climate: string;
  readonly on: string;
  readonly off: string;
  readonly armed: string;
  readonly disarmed: string;
  readonly empty: string;
  readonly occupied: string;
  readonly arrived: string;
  readonly left: string;
  readonly heating: string;
  readonly noVisits: string;
  readonly noScenes: string;
  settingsCreated(file: string): string;
  putAside(file: string, backup: string): string;
  target(degrees: number): string;
  sceneActivated(name: string): string;
  lightUnknown(name: string, known: string): string;
  sceneUnknown(name: string, known: string): string;
  toolUnknown(name: string, known: string): string;
  featureOff(feature: string, file: string): string;
  argumentRefused(error: HomeCallError): string;
  /** For arguments of the commands, such as `thermostat`. */
  readonly argument: Readonly<Record<string, string>>;
  readonly state: Readonly<Record<HomeStateError["code"], string>>;
  readonly rules: Readonly<Record<SettingsProblem["rule"], (values: readonly string[]) => string>>;
}

export interface HomeTexts extends HomeWords {
  notice(notice: HomeNotice): string;
  refusal(error: HomeCallError, settingsFile: string): string;
  stateProblem(error: HomeStateError): string;
  settingsProblem(file: string, problem: SettingsProblem): string;
}

export function homeTexts(env: Readonly<Record<string, string | undefined>>): HomeTexts {
  // As in POSIX, an empty variable counts as unset.
  const language = env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "";
  const words = /^es(?![a-z])/i.test(language) ? spanish : english;
  return {
    ...words,
    notice: (notice) =>
      notice.kind === "settings_created"
        ? words.settingsCreated(notice.file)
        : words.putAside(notice.file, notice.backup),
    refusal: (error, settingsFile) => refusal(words, error, settingsFile),
    stateProblem: (error) => `${words.state[error.code]} (${error.message})`,
    settingsProblem(file, { key, line, rule, values }) {
      const place = line === undefined ? file : `${file}:${line}`;
      const text = words.rules[rule](values);
      return key === "" ? `${place}: ${text}` : `${place}: \`${key}\` ${text}`;
    },
  };
}

function refusal(words: HomeWords, error: HomeCallError, settingsFile: string): string {
  const { name = "", known = [] } = error.details;
  switch (error.code) {
    case "light_unknown":
      return words.lightUnknown(name, known.join(", "));
    case "scene_unknown":
      return words.sceneUnknown(name, known.join(", "));
    case "tool_unknown": {
      const feature = featureOfTool[name];
      if (feature !== undefined) return words.featureOff(feature, settingsFile);
      return words.toolUnknown(name, known.join(", "));
    }
    case "tool_failed":
      return error.message;
    case "argument_missing":
    case "argument_invalid":
      return words.argument[name] ?? words.argumentRefused(error);
  }
}
