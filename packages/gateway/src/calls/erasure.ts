/**
 * Deletes what is kept about a device besides the device: calls, also queued ones, events, photos, frames, approvals,
 * stored answers, deliveries to webhooks, its names in the audit, and its serial number in calls that it asked for.
 */
import type { CallAsker, JsonObject } from "@tendon/protocol";
import type { Store } from "../store/store.ts";
import type { CallTraces } from "./call-traces.ts";
import type { Idempotency } from "./idempotency.ts";
import { detailsOf, readDetails } from "./queued-call-details.ts";

export interface ErasedDevice {
  readonly device: string;
  readonly serial?: string | undefined;
}

export interface ErasureDependencies {
  readonly store: Pick<
    Store,
    "calls" | "events" | "approvals" | "audit" | "webhookDeliveries" | "queuedCalls"
  >;
  readonly traces: CallTraces;
  readonly idempotency: Idempotency;
  /** What other modules of this node keep in memory and in files. */
  readonly forgetHere: readonly ((device: string) => Promise<void> | void)[];
  /** Lets every other node do the same. */
  readonly forgetElsewhere: (erased: ErasedDevice) => Promise<void>;
}

export class Erasure {
  readonly #dependencies: ErasureDependencies;

  constructor(dependencies: ErasureDependencies) {
    this.#dependencies = dependencies;
  }

  /** In the store, and in the memory of every node. */
  async everywhere(erased: ErasedDevice): Promise<void> {
    const { store, idempotency, forgetElsewhere } = this.#dependencies;
    const { device } = erased;
    await this.here(erased);
    await store.queuedCalls.removeOf(device);
    await store.queuedCalls.changeDetails('"asker"', (details) => withoutAsker(details, erased));
    await store.calls.removeOf(device);
    await store.calls.eraseAskers((asker) => isOf(asker, erased));
    await store.events.removeOf(device);
    await store.approvals.removeOf(device);
    await store.audit.eraseDevice(device);
    await store.webhookDeliveries.removeOf(device);
    await idempotency.forgetDevice(device);
    await forgetElsewhere(erased);
  }

  /** In the memory and the files of this node. */
  async here(erased: ErasedDevice): Promise<void> {
    const { traces, idempotency, forgetHere } = this.#dependencies;
    const { device } = erased;
    traces.forgetDevice(device);
    traces.eraseAskers((asker) => isOf(asker, erased));
    idempotency.forgetDeviceHere(device);
    for (const forget of forgetHere) await forget(device);
  }
}

/** The gateway may not have known the board when the agent named its serial number. */
function isOf(asker: CallAsker, { device, serial }: ErasedDevice): boolean {
  const names = [device, serial].map((name) => name?.toLowerCase());
  const named = asker.serialNumber?.toLowerCase();
  return asker.device === device || (named !== undefined && names.includes(named));
}

function withoutAsker(details: JsonObject, erased: ErasedDevice): JsonObject | undefined {
  const { origin, ...rest } = readDetails(details);
  if (origin?.asker === undefined || !isOf(origin.asker, erased)) return undefined;
  const { asker: _asker, ...kept } = origin;
  return detailsOf({ ...rest, origin: kept });
}
