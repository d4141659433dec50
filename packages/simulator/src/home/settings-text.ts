/** Reads the text of home.yaml. Reports all problems at once, each with its key and line. */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import { HomeSettingsError, type SettingsProblem, type SettingsRule } from "./home-errors.ts";
import {
  defaultSettings,
  type Feature,
  features,
  type HomeSettings,
  isName,
  maxLights,
  maxPeople,
  type Scene,
  targetRange,
} from "./settings.ts";

type Way = readonly string[];
type Fields = Readonly<Record<string, unknown>>;
type Complain = (way: Way, rule: SettingsRule, ...values: readonly (string | number)[]) => void;

export function parseSettings(text: string, file: string): HomeSettings {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems: SettingsProblem[] = document.errors.map(({ message, pos }) => ({
    key: "",
    line: lines.linePos(pos[0]).line,
    rule: "syntax",
    values: [message],
  }));
  if (problems.length > 0) throw new HomeSettingsError(file, problems);
  const complain: Complain = (way, rule, ...values) => {
    problems.push({ key: way.join("."), line: lineOf(way), rule, values: values.map(String) });
  };
  const lineOf = (way: Way): number | undefined => {
    const offset = offsetOf(document.contents, way);
    return offset === undefined ? undefined : lines.linePos(offset).line;
  };
  const settings = readSettings(contentOf(document, file), complain);
  if (problems.length > 0) throw new HomeSettingsError(file, problems);
  return settings;
}

/** The parser rejects a file with too many aliases only here. */
function contentOf(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HomeSettingsError(file, [{ key: "", line: undefined, rule: "syntax", values: [reason] }]);
  }
}

/** The position of the key, or of its parent if there is none. */
function offsetOf(node: unknown, [key, ...rest]: Way): number | undefined {
  const own = isNode(node) ? node.range?.[0] : undefined;
  if (key === undefined || !isMap(node)) return own;
  const pair = node.items.find(({ key: name }) => isScalar(name) && String(name.value) === key);
  if (pair === undefined) return own;
  const keyAt = isNode(pair.key) ? pair.key.range?.[0] : own;
  return rest.length === 0 ? keyAt : (offsetOf(pair.value, rest) ?? keyAt);
}

const known = ["lights", "alarm_default", "presence_default", "features", "climate", "scenes", "tools"];

function readSettings(content: unknown, complain: Complain): HomeSettings {
  const top = fieldsOf([], content, known, complain);
  const lights =
    (top["lights"] ?? undefined) === undefined ? defaultSettings.lights : readLights(top["lights"], complain);
  const chosen = readFeatures(top["features"], complain);
  return {
    lights,
    alarmDefault: flagOf(["alarm_default"], top["alarm_default"], complain) ?? defaultSettings.alarmDefault,
    presenceDefault: readPresence(top["presence_default"], complain),
    features: chosen,
    climate: readClimate(top["climate"], complain),
    scenes: readScenes(top["scenes"], { lights, climate: chosen.has("climate") }, complain),
    toolsFile: readPath(top["tools"], complain),
    own: defaultSettings.own,
  };
}

function readPath(value: unknown, complain: Complain): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && value !== "") return value;
  complain(["tools"], "path");
  return undefined;
}

/** A list of names, all off, or names with initial states. */
function readLights(value: unknown, complain: Complain): ReadonlyMap<string, boolean> {
  const way = ["lights"];
  if (Array.isArray(value)) {
    if (value.length > maxLights || !value.every(isName) || new Set(value).size !== value.length) {
      complain(way, "lights", maxLights);
    }
    return new Map(value.filter(isName).map((name) => [name, false]));
  }
  if (!isFields(value) || Object.keys(value).length > maxLights) {
    complain(way, "lights", maxLights);
    return new Map();
  }
  return new Map(
    Object.entries(value).map(([name, on]) => {
      if (!isName(name)) complain([...way, name], "name");
      return [name, flagOf([...way, name], on, complain) ?? false];
    }),
  );
}

function readPresence(value: unknown, complain: Complain): HomeSettings["presenceDefault"] {
  const way = ["presence_default"];
  const { present, known_people } = fieldsOf(way, value, ["present", "known_people"], complain);
  const list: unknown = known_people ?? [];
  const names = Array.isArray(list) ? list.filter(isName) : [];
  if (!Array.isArray(list) || new Set(names).size !== list.length || list.length > maxPeople) {
    complain([...way, "known_people"], "names", maxPeople);
  }
  return { present: flagOf([...way, "present"], present, complain) ?? names.length > 0, knownPeople: names };
}

function readFeatures(value: unknown, complain: Complain): ReadonlySet<Feature> {
  const list: unknown = value ?? [];
  const chosen = Array.isArray(list) ? features.filter((feature) => list.includes(feature)) : [];
  if (!Array.isArray(list) || chosen.length !== new Set(list).size)
    complain(["features"], "feature", ...features);
  return new Set(chosen);
}

function readClimate(value: unknown, complain: Complain): HomeSettings["climate"] {
  const way = ["climate"];
  const { target, minutes, seed } = fieldsOf(way, value, ["target", "minutes", "seed"], complain);
  const { climate } = defaultSettings;
  return {
    target: numberOf([...way, "target"], target, targetRange, complain) ?? climate.target,
    minutes:
      numberOf([...way, "minutes"], minutes, { minimum: 0.01, maximum: 10_000 }, complain) ?? climate.minutes,
    seed: numberOf([...way, "seed"], seed, { minimum: 0, maximum: 2 ** 31 - 1 }, complain) ?? climate.seed,
  };
}

interface SceneWorld {
  readonly lights: ReadonlyMap<string, boolean>;
  readonly climate: boolean;
}

function readScenes(value: unknown, world: SceneWorld, complain: Complain): readonly Scene[] {
  return Object.entries(fieldsOf(["scenes"], value, undefined, complain)).map(([name, content]) => {
    const way = ["scenes", name];
    if (!isName(name)) complain(way, "name");
    const fields = fieldsOf(way, content, ["lights", "alarm", "thermostat"], complain);
    const lights = Object.entries(fieldsOf([...way, "lights"], fields["lights"], undefined, complain));
    for (const [light] of lights) {
      if (!world.lights.has(light))
        complain([...way, "lights", light], "light_unknown", ...world.lights.keys());
    }
    const thermostat = numberOf([...way, "thermostat"], fields["thermostat"], targetRange, complain);
    if (thermostat !== undefined && !world.climate) complain([...way, "thermostat"], "climate_off");
    return {
      name,
      lights: new Map(
        lights.map(([light, on]) => [light, flagOf([...way, "lights", light], on, complain) ?? false]),
      ),
      alarm: flagOf([...way, "alarm"], fields["alarm"], complain),
      thermostat,
    };
  });
}

/** A key without a value counts as missing. */
function fieldsOf(
  way: Way,
  value: unknown,
  allowed: readonly string[] | undefined,
  complain: Complain,
): Fields {
  if (value === undefined || value === null) return {};
  if (!isFields(value)) {
    complain(way, "mapping");
    return {};
  }
  const unknown = allowed === undefined ? [] : Object.keys(value).filter((key) => !allowed.includes(key));
  for (const key of unknown) complain([...way, key], "unknown_key", ...(allowed ?? []));
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function flagOf(way: Way, value: unknown, complain: Complain): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "boolean") return value;
  complain(way, "flag");
  return undefined;
}

function numberOf(
  way: Way,
  value: unknown,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
  complain: Complain,
): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && value >= minimum && value <= maximum) return value;
  complain(way, "number", minimum, maximum);
  return undefined;
}
