import { callerEntries } from "./caller-entries.ts";
import { deviceEntries } from "./device-entries.ts";
import type { Entry } from "./entry.ts";
import { type Programs, programEntryNames } from "./line-entry.ts";

export function entriesWith(programs: Programs): readonly Entry[] {
  return [...deviceEntries, ...callerEntries, ...programs.entries];
}

export const entryNames: readonly string[] = [
  ...[...deviceEntries, ...callerEntries].map(({ name }) => name),
  ...programEntryNames,
];
