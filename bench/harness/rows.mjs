// A row is data: a group declares its name, title, unit and target, and hands back the figures of each round.
import { noiseOf } from "./noise.mjs";
import { summarise } from "./statistics.mjs";

/**
 * @param definition `{name, title, unit, clock?, better, target?, baseline?}`. `clock: "cpu"` is for processor time and
 *   memory, which a busy machine changes little. `better` is "less" or "more". A target bounds
 *   the value (`{most}` or `{least}`) or its ratio to the baseline (`{ratioMost}` or `{ratioLeast}`).
 * @param measured `{values, baselines?, detail?, count?}`, one number for each round. Rounds of both belong together.
 *   `count`: the number of devices, where it may differ from the one in the title.
 * @param foreign the share of the processors that other processes took meanwhile
 */
export function makeRow(group, definition, measured, foreign) {
  const { values, baselines, detail, count } = measured;
  const row = {
    ...definition,
    title: count === undefined ? definition.title : definition.title.replace(/\d+,\d{3}/, figure(count)),
    group,
    value: summarise(values),
    ...(baselines === undefined ? {} : { baseline: { title: definition.baseline, ...summarise(baselines) } }),
    ...(baselines === undefined ? {} : { ratio: ratioOf(values, baselines) }),
    ...(detail === undefined ? {} : { detail }),
    foreign,
  };
  if (baselines === undefined) delete row.baseline;
  return judge(row, definition);
}

/** The row by the bounds of today's definition, which may be newer than the row. */
export function judge(row, definition) {
  const { target, clock } = definition;
  const judged = { ...row, target, clock };
  return { ...judged, met: isMet(judged), noise: noiseOf(judged) };
}

/** Of one round each, so that what a busy second did to one side it did to both. */
function ratioOf(values, baselines) {
  if (values.length === baselines.length)
    return summarise(values.map((value, round) => value / baselines[round]));
  const [value, baseline] = [summarise(values), summarise(baselines)];
  const middle = value.median / baseline.median;
  return { ...value, median: middle, low: middle, high: middle, spread: value.spread + baseline.spread };
}

/** `undefined` if the row has no target. */
function isMet({ target, value, ratio }) {
  if (target === undefined) return undefined;
  const { most, least, ratioMost, ratioLeast } = target;
  if (most !== undefined) return value.median <= most;
  if (least !== undefined) return value.median >= least;
  if (ratio === undefined) return undefined;
  return ratioMost === undefined ? ratio.median >= ratioLeast : ratio.median <= ratioMost;
}

/** What runs can be compared by: the ratio to the baseline, or the value where there is none. */
export function comparable(row) {
  return row.ratio ?? row.value;
}

export function targetText({ target, unit }) {
  if (target === undefined) return "";
  const { most, least, ratioMost, ratioLeast } = target;
  if (most !== undefined) return `≤ ${figure(most)} ${unit}`;
  if (least !== undefined) return `≥ ${figure(least)} ${unit}`;
  return ratioMost === undefined ? `≥ ${figure(ratioLeast)} ×` : `≤ ${figure(ratioMost)} ×`;
}

/** How far the rounds lie apart. */
export function spreadText(row) {
  const { spread, rounds } = comparable(row);
  return rounds === 1 ? "1 round" : `${Math.round(spread * 100)} %`;
}

/** Three digits that count, with separators for thousands. */
export function figure(number) {
  if (!Number.isFinite(number)) return "?";
  const size = Math.abs(number);
  if (size >= 1_000) return Math.round(number).toLocaleString("en-US");
  if (size >= 100) return number.toFixed(0);
  if (size === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return String(Number(number.toFixed(Math.min(digits, 4))));
}
