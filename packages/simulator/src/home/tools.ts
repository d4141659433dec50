/** The home's tools in the order of `ready`: the protocol's six, those that home.yaml enables, then those of the tools file. */
import { climateAt, setTarget } from "./climate.ts";
import { HomeCallError } from "./home-errors.ts";
import type { BuiltIn } from "./own-tools.ts";
import { type HomeSettings, type Scene, targetRange } from "./settings.ts";
import { setAlarm, setPeople, switchLights, visitsKept } from "./state.ts";
import { changingTool, type HomeTool, readingTool } from "./tool.ts";

const flag = { type: "boolean" };
const text = { type: "string" };
const texts = { type: "array", items: text };
const presenceResult = { present: flag, known_people: texts };
const climateResult = { temperature: { type: "number" }, target: { type: "number" }, heating: flag };

export const peopleParameter = {
  people: { type: "array", items: { type: "string" }, description: "Personas que están en casa" },
} as const;

const alwaysThere: readonly HomeTool[] = [
  readingTool({
    name: "get_presence",
    description: "Obtiene el estado del detector de presencia",
    result: presenceResult,
    read: ({ presence }) => presence,
  }),
  readingTool({
    name: "get_alarm_status",
    description: "Consulta si la alarma está armada",
    result: { armed: flag },
    read: ({ alarm }) => ({ armed: alarm }),
  }),
  readingTool({
    name: "list_lights_on",
    description: "Lista los nombres de las luces que están encendidas",
    result: { on: texts },
    read: ({ lights }) => ({ on: Object.keys(lights).filter((name) => lights[name]) }),
  }),
  changingTool({
    name: "set_light_state",
    description: "Enciende o apaga una luz específica",
    parameters: {
      name: { type: "string", description: "Nombre de la luz" },
      on: { type: "boolean", description: "true para encender, false para apagar" },
    },
    required: ["name", "on"],
    change(state, { settings }, { name, on }) {
      if (!settings.lights.has(name)) {
        throw new HomeCallError("light_unknown", `Luz '${brief(name)}' no encontrada`, {
          name,
          known: [...settings.lights.keys()],
        });
      }
      return switchLights(state, new Map([[name, on]]));
    },
  }),
  changingTool({
    name: "set_alarm_state",
    description: "Arma o desarma la alarma",
    parameters: { armed: { type: "boolean", description: "true para armar, false para desarmar" } },
    required: ["armed"],
    change: (state, _, { armed }) => setAlarm(state, armed),
  }),
];

function snapshotTool({ features, own }: HomeSettings): HomeTool {
  const climate = features.has("climate");
  const ownResult = [...own.state].map(([name, value]) => [name, { type: typeof value }] as const);
  return readingTool({
    name: "get_all_states",
    description: "Obtiene un snapshot completo del estado del sistema",
    result: {
      lights: { type: "object", additionalProperties: flag },
      alarm: flag,
      presence: { type: "object", properties: presenceResult },
      ...(climate ? { climate: { type: "object", properties: climateResult } } : {}),
      ...Object.fromEntries(ownResult),
    },
    read: (state, { settings, now }) => ({
      lights: state.lights,
      alarm: state.alarm,
      presence: state.presence,
      ...(climate ? { climate: climateAt(state.climate, settings.climate, now) } : {}),
      ...state.own,
    }),
  });
}

const onRequest: readonly HomeTool[] = [
  changingTool({
    name: "set_presence",
    feature: "presence",
    description: "Establece quién está en casa; una lista vacía significa que no hay nadie",
    parameters: peopleParameter,
    required: ["people"],
    change: (state, { settings, now }, { people }) =>
      setPeople(state, people, { now, record: settings.features.has("presence") }),
  }),
  readingTool({
    name: "get_presence_history",
    feature: "presence",
    description: "Obtiene quién llegó y quién se fue, y cuándo; lo más reciente primero",
    parameters: {
      limit: {
        type: "integer",
        minimum: 1,
        maximum: visitsKept,
        description: "Cuántas entradas como máximo (20 si se omite)",
      },
    },
    result: {
      history: {
        type: "array",
        items: {
          type: "object",
          properties: { at: text, person: text, event: { type: "string", enum: ["arrived", "left"] } },
        },
      },
    },
    read: ({ history }, _, { limit = 20 }) => ({ history: history.slice(-limit).reverse() }),
  }),
  readingTool({
    name: "get_climate",
    feature: "climate",
    description: "Obtiene la temperatura de la habitación y la del termostato, en °C",
    result: climateResult,
    read: ({ climate }, { settings, now }) => climateAt(climate, settings.climate, now),
  }),
  changingTool({
    name: "set_thermostat",
    feature: "climate",
    description: "Ajusta el termostato; la habitación lo sigue poco a poco",
    parameters: { target: { type: "number", ...targetRange, description: "Temperatura deseada en °C" } },
    required: ["target"],
    change: (state, { settings, now }, { target }) =>
      setTarget(state, target, { settings: settings.climate, now }),
  }),
  changingTool({
    name: "activate_scene",
    feature: "scenes",
    description: "Activa una escena: luces, alarma y termostato de una vez",
    parameters: { name: { type: "string", description: "Nombre de la escena" } },
    required: ["name"],
    change(state, { settings, now }, { name }) {
      const scene = sceneNamed(settings, name);
      const lit = switchLights(state, scene.lights);
      const guarded = scene.alarm === undefined ? lit : setAlarm(lit, scene.alarm);
      const warmed =
        scene.thermostat === undefined
          ? guarded
          : setTarget(guarded, scene.thermostat, { settings: settings.climate, now });
      return { ...warmed, scene: { name, at: now } };
    },
  }),
  readingTool({
    name: "list_scenes",
    feature: "scenes",
    description: "Lista las escenas y lo que cambia cada una",
    result: {
      scenes: {
        type: "array",
        items: {
          type: "object",
          properties: {
            name: text,
            lights: { type: "object", additionalProperties: flag },
            alarm: flag,
            thermostat: { type: "number" },
          },
        },
      },
    },
    read: (_, { settings }) => ({ scenes: settings.scenes.map(describeScene) }),
  }),
];

/** Names that a tools file cannot use, also those of features that are off. */
export const builtIn: BuiltIn = {
  tools: [
    ...alwaysThere.map(({ definition }) => definition.name),
    "get_all_states",
    ...onRequest.map(({ definition }) => definition.name),
  ],
  states: ["lights", "alarm", "presence", "climate"],
};

/** The tools of this home by name. */
export function toolsOf(settings: HomeSettings): ReadonlyMap<string, HomeTool> {
  const added = onRequest.filter(({ feature }) => feature !== undefined && settings.features.has(feature));
  const all = [...alwaysThere, snapshotTool(settings), ...added, ...settings.own.tools];
  return new Map(all.map((tool) => [tool.definition.name, tool]));
}

function sceneNamed({ scenes }: HomeSettings, name: string): Scene {
  const scene = scenes.find((one) => one.name === name);
  if (scene !== undefined) return scene;
  const known = scenes.map((one) => one.name);
  throw new HomeCallError("scene_unknown", `Escena '${brief(name)}' no encontrada`, { name, known });
}

function describeScene({ name, lights, alarm, thermostat }: Scene): object {
  return {
    name,
    lights: Object.fromEntries(lights),
    ...(alarm === undefined ? {} : { alarm }),
    ...(thermostat === undefined ? {} : { thermostat }),
  };
}

const maxNameLength = 200;

/** Truncates a name for an error message. */
export function brief(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
}
