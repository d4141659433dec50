/** Commands for the simulated home. They share their state with a running `--mcp` server. */
import { OperationError, UsageError } from "../errors.ts";
import { readLoosely, splitPairs } from "../fields.ts";
import { colours, plain, print, printJson } from "../output.ts";
import { type HomeOptions, type OpenHome, withHome } from "./home-open.ts";
import type { HomeTexts } from "./home-texts.ts";
import { HomeCallError } from "./simulated-home.ts";

interface Snapshot {
  readonly lights: Readonly<Record<string, boolean>>;
  readonly alarm: boolean;
  readonly presence: Presence;
  readonly climate?: Climate;
  /** States of the tools file. */
  readonly [own: string]: unknown;
}

interface Presence {
  readonly present: boolean;
  readonly known_people: readonly string[];
}

interface Climate {
  readonly temperature: number;
  readonly target: number;
  readonly heating: boolean;
}

export async function homeStatus(options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    const all = home.call("get_all_states") as Snapshot;
    const own = [...home.settings.own.state.keys()];
    show(options, all, () => {
      const width = Math.max(10, ...own.map((name) => name.length)) + 2;
      const row = (name: string, text: string) => `${name.padEnd(width)}${text}`;
      return [
        texts.lights,
        ...lightRows(all.lights, texts).map((line) => `  ${line}`),
        row(texts.alarm, all.alarm ? colours.red(texts.armed) : texts.disarmed),
        row(texts.presence, people(all.presence, texts)),
        ...(all.climate === undefined ? [] : [row(texts.climate, climateText(all.climate, texts))]),
        ...own.map((name) => row(name, plain(String(all[name])))),
      ];
    });
  });
}

/** Calls a tool by its name. `key=value` is read by the tool's schema. */
export async function homeCall(tool: string, pairs: readonly string[], options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    const schema = home.tools.find(({ name }) => name === tool)?.input_schema.properties;
    const args = splitPairs(pairs).map(([key, text]) => [
      key,
      schema?.[key]?.type === "string" ? text : readLoosely(text),
    ]);
    try {
      printJson(home.call(tool, Object.fromEntries(args)));
    } catch (error) {
      if (!(error instanceof HomeCallError) || !error.code.startsWith("argument_")) throw error;
      const detail = texts.argumentRefused(error);
      throw new OperationError(detail, { code: error.code, detail, name: error.details.name });
    }
  });
}

export async function homeLights(options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    const { lights } = home.state;
    show(options, { lights }, () => lightRows(lights, texts));
  });
}

export async function homeLight(name: string, on: boolean, options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    home.call("set_light_state", { name, on });
    show(options, { name, on }, () => lightRows({ [name]: on }, texts));
  });
}

export async function homeAlarm(armed: boolean, options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    home.call("set_alarm_state", { armed });
    show(options, { armed }, () => [`${texts.alarm}: ${armed ? texts.armed : texts.disarmed}`]);
  });
}

export type PresenceChange = "set" | "add" | "remove" | "clear";

export async function homePresence(options: HomeOptions): Promise<void> {
  await withHome(options, (opened) => showPresence(options, opened));
}

export async function homePresenceChange(
  change: PresenceChange,
  names: readonly string[],
  options: HomeOptions,
): Promise<void> {
  await withHome(options, (opened) => {
    opened.home.changePeople((there) => {
      switch (change) {
        case "set":
          return names;
        case "add":
          return [...there, ...names];
        case "remove":
          return there.filter((person) => !names.includes(person));
        case "clear":
          return [];
      }
    });
    showPresence(options, opened);
  });
}

export async function homeHistory(limit: number, options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    const answer = home.call("get_presence_history", { limit }) as {
      readonly history: readonly {
        readonly at: string;
        readonly person: string;
        readonly event: "arrived" | "left";
      }[];
    };
    show(options, answer, () =>
      answer.history.length === 0
        ? [texts.noVisits]
        : answer.history.map(
            ({ at, person, event }) => `${colours.dim(at)}  ${plain(person)} ${texts[event]}`,
          ),
    );
  });
}

export async function homeClimate(options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    const climate = home.call("get_climate") as Climate;
    show(options, climate, () => [climateText(climate, texts)]);
  });
}

export async function homeThermostat(text: string, options: HomeOptions): Promise<void> {
  const target = Number(text.replace(",", "."));
  await withHome(options, ({ home, texts }) => {
    if (text.trim() === "" || Number.isNaN(target)) throw new UsageError(texts.argument["target"] ?? "");
    home.call("set_thermostat", { target });
    const climate = home.call("get_climate") as Climate;
    show(options, climate, () => [climateText(climate, texts)]);
  });
}

interface SceneList {
  readonly scenes: readonly {
    readonly name: string;
    readonly lights: Readonly<Record<string, boolean>>;
    readonly alarm?: boolean;
    readonly thermostat?: number;
  }[];
}

export async function homeScenes(options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    const list = home.call("list_scenes") as SceneList;
    show(options, list, () =>
      list.scenes.length === 0
        ? [texts.noScenes]
        : list.scenes.map(({ name, lights, alarm, thermostat }) => {
            const parts = [
              ...Object.entries(lights).map(([light, on]) => `${light} ${on ? texts.on : texts.off}`),
              ...(alarm === undefined ? [] : [`${texts.alarm} ${alarm ? texts.armed : texts.disarmed}`]),
              ...(thermostat === undefined ? [] : [`${thermostat} °C`]),
            ];
            return `${plain(name)}: ${plain(parts.join(", "))}`;
          }),
    );
  });
}

export async function homeScene(name: string, options: HomeOptions): Promise<void> {
  await withHome(options, ({ home, texts }) => {
    home.call("activate_scene", { name });
    show(options, { name }, () => [texts.sceneActivated(plain(name))]);
  });
}

function showPresence(options: HomeOptions, { home, texts }: OpenHome): void {
  const { presence } = home.state;
  show(options, presence, () => [people(presence, texts)]);
}

function show(options: HomeOptions, value: unknown, lines: () => readonly string[]): void {
  if (options.json === true) printJson(value);
  else print(lines().join("\n"));
}

function lightRows(lights: Readonly<Record<string, boolean>>, texts: HomeTexts): string[] {
  const width = Math.max(8, ...Object.keys(lights).map((name) => name.length)) + 2;
  return Object.entries(lights).map(
    ([name, on]) => `${name.padEnd(width)}${on ? colours.yellow(texts.on) : colours.dim(texts.off)}`,
  );
}

function people({ present, known_people }: Presence, texts: HomeTexts): string {
  if (!present) return texts.empty;
  return known_people.length === 0 ? texts.occupied : known_people.map(plain).join(", ");
}

function climateText({ temperature, target, heating }: Climate, texts: HomeTexts): string {
  return `${temperature} °C (${texts.target(target)}${heating ? `, ${texts.heating}` : ""})`;
}
