import type { Events } from "../events/events.ts";
import type { DeviceAdmin } from "../fleet/fleet.ts";
import type { Change, Credentials } from "./credentials.ts";

export interface WelcomeNeeds {
  readonly credentials: Credentials;
  readonly devices: DeviceAdmin;
  readonly events: Events;
  /** Ends the device's connections. */
  readonly cut: (deviceId: string, reason: string) => void;
}

export const replacedReason = "another board was approved under this id";

/** The one way in: the pair counts from now on, whoever had the id before is cut off, and everybody is told. */
export class Welcome {
  readonly #needs: WelcomeNeeds;

  constructor(needs: WelcomeNeeds) {
    this.#needs = needs;
  }

  /** Resolves when it is on the disk; says whether another board was replaced. */
  async approve(
    device: string,
    clientId: Buffer,
    { by, tags = [] }: { readonly by: string; readonly tags?: readonly string[] | undefined },
  ): Promise<boolean> {
    const change = this.#needs.credentials.approve(device, clientId);
    this.cutReplaced(device, change);
    await this.#needs.devices.tagNew(device, tags);
    await change.written;
    this.tell(device, change, by);
    return change.replaced;
  }

  cutReplaced(device: string, { replaced }: Change): void {
    if (replaced) this.#needs.cut(device, replacedReason);
  }

  tell(device: string, { replaced, fresh }: Change, by: string): void {
    if (fresh) this.#needs.events.deviceApproved(device, { by, replaced });
  }
}
