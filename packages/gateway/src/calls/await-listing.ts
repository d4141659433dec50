import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { untilListed } from "../fleet/fleet.ts";
import type { CallInProgress, Step } from "./pipeline.ts";

/** A call that waits for the first list ends like any waiting call: by its deadline or with its connection. */
export function awaitListing(clock: Clock): Step {
  return (call) => (call.record.awaitListing === undefined ? undefined : firstListing(clock, call));
}

async function firstListing(clock: Clock, { record, turn }: CallInProgress): Promise<void> {
  const { handle } = record;
  const { timeoutMs, signal } = turn.options();
  if ((await untilListed(clock, record, timeoutMs, signal)) === "timeout") {
    const detail = `the device was still being listed after ${turn.timeoutMs} ms; the call was not sent`;
    throw new TendonError("device_timeout", detail, { phase: "queue", sent: false });
  }
  if (handle !== undefined && record.handle !== handle) {
    const detail = "the device left before its tools were known; the call was not sent";
    throw new TendonError("device_disconnected", detail, { sent: false });
  }
}
