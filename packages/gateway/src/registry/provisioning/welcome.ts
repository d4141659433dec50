import type { TendonError } from "../../errors.ts";
import type { Events } from "../../events.ts";
import type { Principal } from "../access.ts";
import type { Change, Credentials } from "../credentials.ts";
import type { DeviceRecord } from "../device-record.ts";

/** The devices, as far as provisioning has to do with them. */
interface DeviceBook {
  /** The id somebody means, by id in any spelling or by alias. */
  idOf(reference: string): string;
  /** What to fail with where there is none; it has the names that may have been meant. */
  unknown(principal: Principal, reference: string): TendonError;
  find(id: string): Pick<DeviceRecord, "kind" | "alias" | "tags"> | undefined;
  /** Gives a device that has never been here its first tags. */
  tagNew(id: string, tags: readonly string[]): Promise<void>;
  /** Forgets a device and all that hangs on it. */
  remove(principal: Principal, reference: string): Promise<void>;
}

export interface WelcomeNeeds {
  readonly credentials: Credentials;
  readonly devices: DeviceBook;
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
