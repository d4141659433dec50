/** Calls of the commands that may wait until their device is online. */
import type { CallSettings, QueueSettings } from "@tendon/client";
import type { Problem } from "@tendon/protocol";
import { readExpiry } from "./duration.ts";
import { OperationError, UsageError } from "./errors.ts";
import { ahead, print } from "./output.ts";
import { ownCommand } from "./own-command.ts";

export interface QueueFlags {
  readonly queue?: boolean;
  readonly expires?: string;
  readonly supersede?: string;
}

export function readQueueFlags({ queue, expires, supersede }: QueueFlags): CallSettings | QueueSettings {
  if (queue === true)
    return {
      whenOffline: "queue",
      expiresInMs: expires === undefined ? undefined : readExpiry(expires),
      supersedeKey: supersede,
    };
  if (expires !== undefined) throw new UsageError("--expires needs --queue.");
  if (supersede !== undefined) throw new UsageError("--supersede needs --queue.");
  return {};
}

/** Adds how to queue the call, if the device is offline. */
export function withQueueHint(error: unknown): unknown {
  if (!(error instanceof OperationError)) return error;
  if ((error.problem as Partial<Problem> | undefined)?.code !== "device_offline") return error;
  return new OperationError(
    `${error.message}\n  Add --queue to run it when the device is next online.`,
    error.problem,
  );
}

export function printQueued({
  callId,
  expiresAt,
}: {
  readonly callId: string;
  readonly expiresAt: string;
}): void {
  const tendon = ownCommand();
  print(`queued: ${callId}`);
  print(
    `  runs when the device is next online; expires ${ahead(expiresAt, Date.now())}, ${timeOf(expiresAt)}`,
  );
  print(`  follow: ${tendon} calls show ${callId}`);
  print(`  cancel: ${tendon} calls cancel ${callId}`);
}

function timeOf(iso: string): string {
  return `${iso.replace("T", " ").slice(0, 19)} UTC`;
}
