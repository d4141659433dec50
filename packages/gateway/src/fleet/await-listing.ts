import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import { withDeadline } from "../with-deadline.ts";
import type { DeviceRecord } from "./device-record.ts";

const longestWaitMs = 10_000;

/** [CALL-5] Resolves when the device's tools are known, or it is clear that they will not be; says which. */
export async function untilListed(
  clock: Clock,
  record: DeviceRecord,
  timeoutMs = longestWaitMs,
  signal?: Cancellation,
): Promise<"settled" | "timeout"> {
  const listed = record.awaitListing;
  if (listed === undefined) return "settled";
  return (await withDeadline(clock, listed, { timeoutMs, signal })) ?? "settled";
}
