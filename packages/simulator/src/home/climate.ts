import type { ClimateSettings } from "./settings.ts";
import type { ClimateState, HomeState } from "./state.ts";

export interface ClimateReport {
  readonly temperature: number;
  readonly target: number;
  readonly heating: boolean;
}

/** Amplitude of the random temperature variation. */
const wobble = 0.2;
const wobbleMs = 5 * 60_000;

export function climateAt(climate: ClimateState, settings: ClimateSettings, now: number): ClimateReport {
  const temperature = roundTenth(roomAt(climate, settings, now) + wobbleAt(settings.seed, now));
  return { temperature, target: climate.target, heating: temperature < climate.target };
}

/** The room temperature continues from its current value when the target changes. */
export function setTarget(
  state: HomeState,
  target: number,
  { settings, now }: { readonly settings: ClimateSettings; readonly now: number },
): HomeState {
  if (state.climate.target === target) return state;
  const from = roomAt(state.climate, settings, now);
  return { ...state, climate: { target, from: Math.round(from * 1000) / 1000, at: now } };
}

function roomAt({ target, from, at }: ClimateState, { minutes }: ClimateSettings, now: number): number {
  const passed = Math.max(0, now - at) / (minutes * 60_000);
  return target + (from - target) * Math.exp(-passed);
}

/** The same seed and time give the same variation in every process and after every restart. */
function wobbleAt(seed: number, now: number): number {
  const slot = Math.floor(now / wobbleMs);
  const share = now / wobbleMs - slot;
  const smooth = share * share * (3 - 2 * share);
  const before = fraction(seed, slot);
  const after = fraction(seed, slot + 1);
  return (before + (after - before) * smooth) * 2 * wobble - wobble;
}

/** A hash of seed and slot, from 0 to 1. */
function fraction(seed: number, slot: number): number {
  let bits = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(slot | 0, 0xc2b2ae35);
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return ((bits ^ (bits >>> 16)) >>> 0) / 0xffffffff;
}

function roundTenth(value: number): number {
  return Math.round(value * 10) / 10;
}
