import type { Events } from "../events/events.ts";
import type { DeviceAdmin } from "../fleet/fleet.ts";
import type { Change, Credentials } from "./credentials.ts";

export interface ApprovalDependencies {
  readonly credentials: Credentials;
  readonly devices: DeviceAdmin;
  readonly events: Events;
  /** Ends the device's connections. */
  readonly disconnect: (deviceId: string, reason: string) => void;
}

export const replacedReason = "another board was approved under this id";

/** Approves a pair: stores it, disconnects a board that had the id before, and publishes the event. */
export class PairApproval {
  readonly #dependencies: ApprovalDependencies;

  constructor(dependencies: ApprovalDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when the approval is stored, with whether another board was replaced. */
  async approve(
    device: string,
    clientId: Buffer,
    { by, tags = [] }: { readonly by: string; readonly tags?: readonly string[] | undefined },
  ): Promise<boolean> {
    const change = this.#dependencies.credentials.approve(device, clientId);
    this.disconnectReplaced(device, change);
    await this.#dependencies.devices.tagNew(device, tags);
    await change.written;
    this.publish(device, change, by);
    return change.replaced;
  }

  disconnectReplaced(device: string, { replaced }: Change): void {
    if (replaced) this.#dependencies.disconnect(device, replacedReason);
  }

  publish(device: string, { replaced, fresh }: Change, by: string): void {
    if (fresh) this.#dependencies.events.deviceApproved(device, { by, replaced });
  }
}
