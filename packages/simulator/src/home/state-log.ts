/**
 * The text of a state file: one line with the whole state, then one line for each later change.
 *
 *     {"version":1,"lights":{"salon":false},"alarm":false,…}
 *     {"at":120,"set":{"lights":{"salon":true}}}
 *     {"at":163,"end":true}
 *
 * Processes append without a lock. `at` is the position that the writer expected for its line. A line in another
 * position lost against a line that was appended in between: every process ignores it, and its writer tries again. An
 * incomplete line of a process that was killed, or of a full disk, is ignored too. After `end` no line counts, because
 * a process is replacing the file.
 */
import type { HomeSettings } from "./settings.ts";
import type { HomeState } from "./state.ts";
import { documentOf, type Fields, isFields, parseJson, readDocument } from "./state-text.ts";

const newline = 10;

/** What a part of the file contains. Positions count bytes from the start of the file. */
export interface LogPart {
  readonly state: HomeState;
  /** The end of the last complete line. */
  readonly complete: number;
  readonly ended: boolean;
}

export interface StateLog extends LogPart {
  /** The end of the first line; `undefined` if it is not the whole state, as in a file that was edited by hand. */
  readonly base: number | undefined;
}

/** `undefined` for an invalid state: truncated, from another program, or edited wrongly. */
export function readLog(bytes: Buffer, settings: HomeSettings, file: string): StateLog | undefined {
  const first = bytes.indexOf(newline);
  const line = first === -1 ? undefined : parseJson(bytes.toString("utf8", 0, first));
  if (line === undefined) {
    const state = readDocument(parseJson(bytes.toString()), settings, file);
    return state === undefined ? undefined : { state, base: undefined, complete: bytes.length, ended: false };
  }
  const state = readDocument(line, settings, file);
  if (state === undefined) return undefined;
  const base = first + 1;
  const rest = followLog(bytes.subarray(base), base, { state, settings, file });
  return { ...rest, base };
}

interface Known {
  readonly state: HomeState;
  readonly settings: HomeSettings;
  readonly file: string;
}

/** Applies the lines of `bytes`, which begin at `position`, to the state before them. */
export function followLog(bytes: Buffer, position: number, { state, settings, file }: Known): LogPart {
  let current = state;
  let from = 0;
  for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
    const line = parseJson(bytes.toString("utf8", from, end));
    const at = position + from;
    from = end + 1;
    if (!isFields(line) || line["at"] !== at) continue;
    if (line["end"] === true) return { state: current, complete: position + from, ended: true };
    const changed = isFields(line["set"]) ? merge(documentOf(current), line["set"]) : undefined;
    current = readDocument(changed, settings, file) ?? current;
  }
  return { state: current, complete: position + from, ended: false };
}

/** Whether the text begins like a line of a log, in any position. Otherwise the file was not appended to. */
export function looksAppended(bytes: Buffer): boolean {
  return /^\s*\{"at":\d/.test(bytes.toString("latin1", 0, 64));
}

/** The line for a change; empty if both states are the same. */
export function changeLine(at: number, before: HomeState, after: HomeState): string {
  const set = difference(before, after);
  return Object.keys(set).length === 0 ? "" : `{"at":${at},"set":${JSON.stringify(set)}}\n`;
}

export function endLine(at: number): string {
  return `{"at":${at},"end":true}\n`;
}

function difference(before: HomeState, after: HomeState): Fields {
  const set: Record<string, unknown> = {};
  if (after.lights !== before.lights) addChanged(set, "lights", before.lights, after.lights);
  if (after.alarm !== before.alarm) set["alarm"] = after.alarm;
  if (after.presence !== before.presence) set["presence"] = after.presence;
  if (after.climate !== before.climate) set["climate"] = after.climate;
  if (after.scene !== before.scene) set["scene"] = after.scene;
  if (after.own !== before.own) addChanged(set, "own", before.own, after.own);
  if (after.history !== before.history) {
    const last = before.history.at(-1);
    const known = last === undefined ? 0 : after.history.lastIndexOf(last) + 1;
    if (last === undefined || known > 0) set["visits"] = after.history.slice(known);
    else set["history"] = after.history;
  }
  return set;
}

function addChanged(set: Record<string, unknown>, key: string, before: Fields, after: Fields): void {
  // Without a prototype, because `__proto__` is a name like any other.
  const changed: Record<string, unknown> = Object.create(null);
  let differs = false;
  for (const name of Object.keys(after)) {
    if (before[name] === after[name]) continue;
    changed[name] = after[name];
    differs = true;
  }
  if (differs) set[key] = changed;
}

function merge(document: Fields, { visits, lights, own, ...set }: Fields): Fields {
  const { history = [] } = document;
  return {
    ...document,
    ...set,
    ...(isFields(lights) ? { lights: { ...(document["lights"] as Fields), ...lights } } : {}),
    ...(isFields(own) ? { own: { ...(document["own"] as Fields | undefined), ...own } } : {}),
    ...(Array.isArray(visits) ? { history: [...(history as unknown[]), ...visits] } : {}),
  };
}
