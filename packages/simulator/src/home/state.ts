import type { HomeSettings } from "./settings.ts";

/** A value of a state of one's own. */
export type OwnValue = boolean | number | string;

/** One arrival or departure. */
export interface Visit {
  readonly at: string;
  readonly person: string;
  readonly event: "arrived" | "left";
}

/** The room temperature when the thermostat was last changed; the current one follows from the time since. */
export interface ClimateState {
  readonly target: number;
  readonly from: number;
  readonly at: number;
}

/** Immutable: a change creates a new state, so that two states can be compared. */
export interface HomeState {
  /** The lights of home.yaml, in its order. */
  readonly lights: Readonly<Record<string, boolean>>;
  /** Lights in the file that are not in these settings, because another process may have newer ones. */
  readonly otherLights: Readonly<Record<string, boolean>>;
  readonly alarm: boolean;
  readonly presence: { readonly present: boolean; readonly known_people: readonly string[] };
  readonly history: readonly Visit[];
  readonly climate: ClimateState;
  /** The last activated scene and its time. */
  readonly scene: { readonly name: string; readonly at: number } | undefined;
  /** The states of the tools file, in its order. */
  readonly own: Readonly<Record<string, OwnValue>>;
  /** States in the file that are not in this tools file, as with `otherLights`. */
  readonly otherOwn: Readonly<Record<string, OwnValue>>;
}

/** Maximum number of visits; the oldest are dropped. */
export const visitsKept = 200;

export function initialState(settings: HomeSettings): HomeState {
  const { present, knownPeople } = settings.presenceDefault;
  const { target } = settings.climate;
  return {
    lights: Object.fromEntries(settings.lights),
    otherLights: {},
    alarm: settings.alarmDefault,
    presence: { present, known_people: knownPeople },
    history: [],
    climate: { target, from: target, at: 0 },
    scene: undefined,
    own: Object.fromEntries(settings.own.state),
    otherOwn: {},
  };
}

export function setOwn(state: HomeState, name: string, value: OwnValue): HomeState {
  return state.own[name] === value ? state : { ...state, own: { ...state.own, [name]: value } };
}

export function switchLights(state: HomeState, wanted: ReadonlyMap<string, boolean>): HomeState {
  for (const [name, on] of wanted) {
    if (state.lights[name] !== on)
      return { ...state, lights: { ...state.lights, ...Object.fromEntries(wanted) } };
  }
  return state;
}

export function setAlarm(state: HomeState, armed: boolean): HomeState {
  return state.alarm === armed ? state : { ...state, alarm: armed };
}

/** Sets who is home. Arrivals and departures are recorded if `record` is true. */
export function setPeople(
  state: HomeState,
  people: readonly string[],
  { now, record }: { readonly now: number; readonly record: boolean },
): HomeState {
  const after = [...new Set(people)];
  const before = state.presence.known_people;
  const present = after.length > 0;
  const same = before.length === after.length && before.every((person, index) => person === after[index]);
  if (same && state.presence.present === present) return state;
  const presence = { present, known_people: after };
  if (!record) return { ...state, presence };
  const at = new Date(now).toISOString();
  const visits: Visit[] = [
    ...missingFrom(after, before).map((person) => ({ at, person, event: "left" as const })),
    ...missingFrom(before, after).map((person) => ({ at, person, event: "arrived" as const })),
  ];
  return { ...state, presence, history: [...state.history, ...visits].slice(-visitsKept) };
}

/** The `people` who are not in `list`. */
export function missingFrom(list: readonly string[], people: readonly string[]): string[] {
  return people.filter((person) => !list.includes(person));
}
