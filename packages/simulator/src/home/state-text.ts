/** Reads and writes the state as text. */
import { HomeStateError } from "./home-errors.ts";
import { type HomeSettings, isName, targetRange } from "./settings.ts";
import {
  type ClimateState,
  type HomeState,
  initialState,
  type OwnValue,
  type Visit,
  visitsKept,
} from "./state.ts";

const version = 1;

export function writeState(state: HomeState): string {
  return `${JSON.stringify(documentOf(state))}\n`;
}

/** The state as it is in the file. */
export function documentOf(state: HomeState): Fields {
  const { lights, otherLights, alarm, presence, history, climate, scene } = state;
  const own = { ...state.own, ...state.otherOwn };
  return {
    version,
    lights: { ...lights, ...otherLights },
    alarm,
    presence,
    // While it is unchanged, the thermostat follows home.yaml.
    ...(climate.at === 0 ? {} : { climate }),
    ...(history.length === 0 ? {} : { history }),
    ...(scene === undefined ? {} : { scene }),
    ...(Object.keys(own).length === 0 ? {} : { own }),
  };
}

/** `undefined` for an invalid state: truncated, from another program, or edited wrongly. */
export function readDocument(found: unknown, settings: HomeSettings, file: string): HomeState | undefined {
  if (!isFields(found)) return undefined;
  if (typeof found["version"] === "number" && found["version"] > version) {
    throw new HomeStateError("state_newer", file, `${file} was written by a newer version of Tendon`);
  }
  const initial = initialState(settings);
  const { lights, alarm, presence, history = [], climate = initial.climate, scene, own = {} } = found;
  if (!isFields(lights) || !Object.values(lights).every(isFlag) || !isFlag(alarm)) return undefined;
  if (!isPresence(presence) || !isClimate(climate)) return undefined;
  if (!Array.isArray(history) || !history.every(isVisit)) return undefined;
  if (scene !== undefined && !isScene(scene)) return undefined;
  if (!isFields(own) || !Object.values(own).every(isOwnValue)) return undefined;
  const owned = Object.entries(own as Record<string, OwnValue>);
  // A value of another type is from before the tools file was changed.
  const fits = ([name, value]: readonly [string, OwnValue]) =>
    typeof value === typeof settings.own.state.get(name);
  const entries = Object.entries(lights as Record<string, boolean>);
  return {
    lights: {
      ...initial.lights,
      ...Object.fromEntries(entries.filter(([name]) => settings.lights.has(name))),
    },
    otherLights: Object.fromEntries(entries.filter(([name]) => !settings.lights.has(name))),
    alarm,
    presence: { present: presence.present, known_people: presence.known_people },
    history: history.slice(-visitsKept),
    climate,
    scene,
    own: { ...initial.own, ...Object.fromEntries(owned.filter(fits)) },
    otherOwn: Object.fromEntries(owned.filter(([name]) => !settings.own.state.has(name))),
  };
}

export type Fields = Readonly<Record<string, unknown>>;

/** `undefined` for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isOwnValue(value: unknown): value is OwnValue {
  return typeof value === "string" || typeof value === "boolean" || typeof value === "number";
}

function isPresence(value: unknown): value is HomeState["presence"] {
  if (!isFields(value)) return false;
  const { present, known_people } = value;
  return isFlag(present) && Array.isArray(known_people) && known_people.every(isName);
}

function isClimate(value: unknown): value is ClimateState {
  if (!isFields(value)) return false;
  const { target, from, at } = value;
  return isTemperature(target) && isTemperature(from) && typeof at === "number";
}

function isTemperature(value: unknown): boolean {
  return typeof value === "number" && value >= targetRange.minimum && value <= targetRange.maximum;
}

function isVisit(value: unknown): value is Visit {
  if (!isFields(value)) return false;
  const { at, person, event } = value;
  return typeof at === "string" && typeof person === "string" && (event === "arrived" || event === "left");
}

function isScene(value: unknown): value is NonNullable<HomeState["scene"]> {
  return isFields(value) && typeof value["name"] === "string" && typeof value["at"] === "number";
}
