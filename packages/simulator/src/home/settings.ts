/** The settings of a home, read from home.yaml once at the start. */
import type { OwnTools } from "./own-tools.ts";

export const features = ["presence", "climate", "scenes"] as const;
export type Feature = (typeof features)[number];

export interface Scene {
  readonly name: string;
  readonly lights: ReadonlyMap<string, boolean>;
  readonly alarm: boolean | undefined;
  readonly thermostat: number | undefined;
}

export interface ClimateSettings {
  /** The initial target and room temperature. */
  readonly target: number;
  /** Minutes until the room has covered two thirds of the way to a new target. */
  readonly minutes: number;
  readonly seed: number;
}

export interface HomeSettings {
  /** The lights in order, with their initial states. */
  readonly lights: ReadonlyMap<string, boolean>;
  readonly alarmDefault: boolean;
  readonly presenceDefault: { readonly present: boolean; readonly knownPeople: readonly string[] };
  readonly features: ReadonlySet<Feature>;
  readonly climate: ClimateSettings;
  readonly scenes: readonly Scene[];
  /** The path of the tools file as home.yaml has it. */
  readonly toolsFile: string | undefined;
  /** The content of the tools file. */
  readonly own: OwnTools;
}

export const maxLights = 500;
export const maxPeople = 100;
export const targetRange = { minimum: 5, maximum: 30 } as const;

export const defaultSettings: HomeSettings = {
  lights: new Map(["salon", "cocina", "dormitorio", "bano", "garage"].map((name) => [name, false])),
  alarmDefault: false,
  presenceDefault: { present: false, knownPeople: [] },
  features: new Set(),
  climate: { target: 20, minutes: 30, seed: 1 },
  scenes: [],
  toolsFile: undefined,
  own: { state: new Map(), tools: [] },
};

/** Written if there is no home.yaml. A test compares it with the defaults above. */
export const defaultSettingsText = `# The simulated home (docs/guides/home.md). Read at start.
lights: [salon, cocina, dormitorio, bano, garage]
alarm_default: false
presence_default:
  present: false
  known_people: []

# More tools: presence (set_presence, get_presence_history), climate (get_climate, set_thermostat),
# scenes (activate_scene, list_scenes).
features: []

# climate: { target: 20, minutes: 30, seed: 1 }
# scenes:
#   noche: { lights: { salon: false, cocina: false }, alarm: true, thermostat: 17 }

# Tools and state of your own, from a file in the format of \`tendon simulate esp32 --tools\`.
# tools: my-tools.yaml
`;

/** A readable name: one line, not too long. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= 64 && !hasControls(value);
}

function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);
}
