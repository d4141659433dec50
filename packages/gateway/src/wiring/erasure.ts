/** Deletes what is kept about a device besides the device: calls, events, photos, frames, approvals, stored answers. */
import type { Cluster } from "../cluster/cluster.ts";
import type { FrameLog } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import type { Store } from "../store/store.ts";
import type { OpenedVision } from "../vision/vision.ts";
import type { OpenedServices } from "./services.ts";

export interface ErasureDependencies {
  readonly store: Store;
  readonly events: Events;
  readonly services: Pick<OpenedServices, "calls" | "idempotency">;
  readonly vision: Pick<OpenedVision, "forgetPhotos">;
  readonly frames: FrameLog;
  /** `undefined` for a single gateway. */
  readonly broadcasts: Pick<Cluster["broadcasts"], "sendAndWait"> | undefined;
}

export class Erasure {
  readonly #dependencies: ErasureDependencies;

  constructor(dependencies: ErasureDependencies) {
    this.#dependencies = dependencies;
  }

  /** In the store, and in the memory of every node. */
  async everywhere(device: string): Promise<void> {
    const { store, services, broadcasts } = this.#dependencies;
    await this.here(device);
    await store.calls.removeOf(device);
    await store.events.removeOf(device);
    await store.approvals.removeOf(device);
    await services.idempotency.forgetDevice(device);
    await broadcasts?.sendAndWait({ kind: "history_gone", device });
  }

  /** In the memory and the files of this node. */
  async here(device: string): Promise<void> {
    const { events, services, vision, frames } = this.#dependencies;
    frames.forget(device);
    services.calls.traces.forgetDevice(device);
    events.forget(device);
    services.idempotency.forgetDeviceHere(device);
    await vision.forgetPhotos(device);
  }
}
