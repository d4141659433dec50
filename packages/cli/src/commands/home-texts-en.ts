import type { HomeWords } from "./home-texts.ts";
import type { HomeCallError } from "./simulated-home.ts";

export const english: HomeWords = {
  lights: "Lights",
  alarm: "Alarm",
  presence: "Presence",
  climate: "Climate",
  on: "on",
  off: "off",
  armed: "armed",
  disarmed: "disarmed",
  empty: "nobody is home",
  occupied: "someone is home",
  arrived: "arrived",
  left: "left",
  heating: "heating",
  noVisits: "No arrivals or departures yet.",
  noScenes: "No scenes. Add some under `scenes` in home.yaml.",
  settingsCreated: (file) => `no settings found; wrote the defaults to ${file}`,
  putAside: (file, backup) =>
    `${file} is not a valid state file; renamed it to ${backup} and started with the defaults`,
  target: (degrees) => `target ${degrees} °C`,
  sceneActivated: (name) => `Scene ${name} is active.`,
  lightUnknown: (name, known) => `unknown light \`${name}\`; the lights are ${known}`,
  sceneUnknown: (name, known) => `unknown scene \`${name}\`; the scenes are ${known}`,
  toolUnknown: (name, known) => `unknown tool \`${name}\`; the tools are ${known}`,
  featureOff: (feature, file) => `feature not enabled: add \`${feature}\` to \`features\` in ${file}`,
  argumentRefused: ({ code, details: { name = "", parameter } }) =>
    code === "argument_missing"
      ? `the argument \`${name}\` is missing`
      : `the argument \`${name}\` must be ${kindOf(parameter)}`,
  argument: {
    target: "the target must be a number from 5 to 30 °C",
    people: "a name must have 1 to 64 characters on one line, and at most 100 people can be home",
    limit: "the limit must be a whole number from 1 to 200",
  },
  state: {
    state_unreadable: "cannot read the home's state",
    state_unwritable: "cannot write the home's state",
    state_newer: "the home's state was written by a newer version",
    state_locked: "another process is using the home's state",
  },
  rules: {
    syntax: (values) => values.join(", "),
    missing: () => "does not exist; check the path, or add --init to create it with the defaults",
    path: () => "must be the path of a tools file",
    unknown_key: (values) => `is not a setting; the settings here are ${values.join(", ")}`,
    mapping: () => "must have keys and values",
    flag: () => "must be true or false",
    name: () => "must be a name of 1 to 64 characters on one line",
    names: (values) => `must be a list of at most ${values.join()} different names`,
    lights: (values) =>
      `must be a list of at most ${values.join()} different names, or names with true or false`,
    feature: (values) => `must be a list of features: ${values.join(", ")}`,
    number: (values) => `must be a number from ${values.join(" to ")}`,
    light_unknown: (values) => `is not a light; the lights are ${values.join(", ")}`,
    climate_off: () => "requires `climate` in `features`",
  },
};

function kindOf(parameter: HomeCallError["details"]["parameter"]): string {
  switch (parameter?.type) {
    case "string":
      return "a text";
    case "boolean":
      return "true or false";
    case "integer":
    case "number": {
      const { type, minimum, maximum } = parameter;
      const kind = type === "integer" ? "a whole number" : "a number";
      return minimum === undefined || maximum === undefined ? kind : `${kind} from ${minimum} to ${maximum}`;
    }
    case "array":
      return "a list of names";
    case undefined:
      return "of another type";
  }
}
