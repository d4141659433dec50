import { UsageError } from "./errors.ts";

const units = { ms: 1, s: 1_000, m: 60_000 } as const;

/** `500ms`, `5s`, `2m` in milliseconds. */
export function readDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text.trim());
  if (match === null)
    throw new UsageError(`Invalid duration \`${text}\`. Use a form such as 500ms, 5s or 2m.`);
  const milliseconds = Math.round(Number(match[1]) * units[match[2] as keyof typeof units]);
  if (milliseconds < 1) throw new UsageError("A duration must be at least 1ms.");
  return milliseconds;
}
