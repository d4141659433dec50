import { callerEntries } from "./caller-entries.ts";
import { deviceEntries } from "./device-entries.ts";
import type { Entry } from "./entry.ts";
import { type LineProgram, lineEntry } from "./line-entry.ts";

export function entriesWith(program: LineProgram): readonly Entry[] {
  return [...deviceEntries, ...callerEntries, lineEntry(program)];
}

export const entryNames: readonly string[] = [...deviceEntries, ...callerEntries]
  .map(({ name }) => name)
  .concat("program-lines");
