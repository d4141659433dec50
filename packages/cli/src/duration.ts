import { limits, minQueuedCallMs } from "@tendon/protocol";
import { UsageError } from "./errors.ts";

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `500ms`, `5s`, `2m` in milliseconds. */
export function readDuration(text: string, examples = "500ms, 5s or 2m"): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) throw new UsageError(`Invalid duration \`${text}\`. Use a form such as ${examples}.`);
  const milliseconds = Math.round(Number(match[1]) * units[match[2] as keyof typeof units]);
  if (milliseconds < 1) throw new UsageError("A duration must be at least 1ms.");
  return milliseconds;
}

/** How long a queued call may wait: `30m`, `24h`, `7d` in milliseconds. */
export function readExpiry(text: string): number {
  const milliseconds = readDuration(text, "30m, 24h or 7d");
  if (milliseconds < minQueuedCallMs || milliseconds > limits.waitingCallMs.max)
    throw new UsageError(`--expires must be 1s to 30d, not \`${text}\`.`);
  return milliseconds;
}
