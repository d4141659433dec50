import { type HomeState, missingFrom } from "./state.ts";

/** A change in the home, by any process. */
export interface HomeEvent {
  readonly event:
    | "light_changed"
    | "alarm_changed"
    | "person_arrived"
    | "person_left"
    | "presence_changed"
    | "thermostat_changed"
    | "scene_activated"
    | "state_changed";
  readonly data: Readonly<Record<string, unknown>>;
}

/** The changes between two states. A light that was switched on and off in between causes none. */
export function changesBetween(before: HomeState, after: HomeState): HomeEvent[] {
  if (before === after) return [];
  const events: HomeEvent[] = [];
  const { scene } = after;
  if (scene !== undefined && (scene.at !== before.scene?.at || scene.name !== before.scene.name)) {
    events.push({ event: "scene_activated", data: { name: scene.name } });
  }
  for (const [name, on] of Object.entries(after.lights)) {
    if (before.lights[name] !== on) events.push({ event: "light_changed", data: { name, on } });
  }
  if (before.alarm !== after.alarm) events.push({ event: "alarm_changed", data: { armed: after.alarm } });
  if (before.climate.target !== after.climate.target) {
    events.push({ event: "thermostat_changed", data: { target: after.climate.target } });
  }
  for (const [name, value] of Object.entries(after.own)) {
    if (before.own[name] !== value) events.push({ event: "state_changed", data: { name, value } });
  }
  return [...events, ...presenceChanges(before.presence, after.presence)];
}

function presenceChanges(before: HomeState["presence"], after: HomeState["presence"]): HomeEvent[] {
  const left = missingFrom(after.known_people, before.known_people);
  const arrived = missingFrom(before.known_people, after.known_people);
  return [
    ...left.map((person) => ({ event: "person_left" as const, data: { person } })),
    ...arrived.map((person) => ({ event: "person_arrived" as const, data: { person } })),
    ...(before.present === after.present
      ? []
      : [{ event: "presence_changed" as const, data: { present: after.present } }]),
  ];
}
