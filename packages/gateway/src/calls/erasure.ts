/** Deletes what is kept about a device besides the device: calls, also queued ones, events, photos, frames, approvals, stored answers, deliveries to webhooks, and its names in the audit. */
import type { Store } from "../store/store.ts";
import type { CallTraces } from "./call-traces.ts";
import type { Idempotency } from "./idempotency.ts";

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
  readonly forgetElsewhere: (device: string) => Promise<void>;
}

export class Erasure {
  readonly #dependencies: ErasureDependencies;

  constructor(dependencies: ErasureDependencies) {
    this.#dependencies = dependencies;
  }

  /** In the store, and in the memory of every node. */
  async everywhere(device: string): Promise<void> {
    const { store, idempotency, forgetElsewhere } = this.#dependencies;
    await this.here(device);
    await store.queuedCalls.removeOf(device);
    await store.calls.removeOf(device);
    await store.events.removeOf(device);
    await store.approvals.removeOf(device);
    await store.audit.eraseDevice(device);
    await store.webhookDeliveries.removeOf(device);
    await idempotency.forgetDevice(device);
    await forgetElsewhere(device);
  }

  /** In the memory and the files of this node. */
  async here(device: string): Promise<void> {
    const { traces, idempotency, forgetHere } = this.#dependencies;
    traces.forgetDevice(device);
    idempotency.forgetDeviceHere(device);
    for (const forget of forgetHere) await forget(device);
  }
}
