import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import { withDeadline } from "../with-deadline.ts";
import type { DeviceRecord } from "./device-record.ts";

const defaultTimeoutMs = 10_000;

/** [CALL-5] Waits for the device's first tool list. Resolves with `settled` also if the connection ends without one. */
export async function untilListed(
  clock: Clock,
  record: DeviceRecord,
  timeoutMs = defaultTimeoutMs,
  signal?: Cancellation,
): Promise<"settled" | "timeout"> {
  const listed = record.awaitListing;
  if (listed === undefined) return "settled";
  return (await withDeadline(clock, listed, { timeoutMs, signal })) ?? "settled";
}
