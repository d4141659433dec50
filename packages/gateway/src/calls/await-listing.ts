import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { untilListed } from "../fleet/fleet.ts";
import type { CallInProgress, Step } from "./pipeline.ts";

/** Waits for the first tool list of a device, until the call's deadline or the end of the connection. */
export function awaitListing(clock: Clock): Step {
  return (call) => (call.record.awaitListing === undefined ? undefined : firstListing(clock, call));
}

async function firstListing(clock: Clock, { record, context }: CallInProgress): Promise<void> {
  const { handle } = record;
  const { timeoutMs, signal } = context.options();
  if ((await untilListed(clock, record, timeoutMs, signal)) === "timeout") {
    const detail = `the device had not listed its tools after ${context.timeoutMs} ms; the call was not sent`;
    throw new TendonError("device_timeout", detail, { phase: "queue", sent: false });
  }
  if (handle !== undefined && record.handle !== handle) {
    const detail = "the device disconnected before it listed its tools; the call was not sent";
    throw new TendonError("device_disconnected", detail, { sent: false });
  }
}
