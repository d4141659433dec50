/** The devices as they are written down: what people change about them, and who has been let in. */
import type { DeviceChange, DeviceDetail } from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import type { TendonError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { CredentialPair } from "./credential-pair.ts";
import type { DevicePersistence } from "./device-persistence.ts";
import { type DeviceRecord, refuseProgram } from "./device-record.ts";
import type { KnownDevices } from "./known-devices.ts";
import { aliasTaken } from "./names.ts";
import type { ReplicaSync } from "./replica-sync.ts";
import type { ToolsetChanges } from "./toolset-changes.ts";

export interface DeviceAdminNeeds {
  readonly store: Store;
  readonly devices: KnownDevices;
  readonly persistence: DevicePersistence;
  readonly toolset: ToolsetChanges;
  readonly replicas: ReplicaSync;
  /** Forgets what else the gateway remembers of a device. */
  readonly forgetDevice: (id: string) => void;
}

export class DeviceAdmin {
  readonly #needs: DeviceAdminNeeds;

  constructor(needs: DeviceAdminNeeds) {
    this.#needs = needs;
  }

  /** The id somebody means, by id in any spelling or by alias; a name that is nobody's stays what it is. */
  idOf(reference: string): string {
    return this.#needs.devices.idOf(reference);
  }

  /** A device that is known, for whoever decides about it. */
  find(id: string): DeviceRecord | undefined {
    const record = this.#needs.devices.get(id);
    return record?.isKnown === true ? record : undefined;
  }

  /** Known ones, and others that were only told of. */
  ids(): Iterable<string> {
    return this.#needs.devices.records.keys();
  }

  /** What to fail with where there is no such device; it has the names that may have been meant. */
  unknown(principal: Principal, reference: string): TendonError {
    return this.#needs.devices.unknown(principal, reference);
  }

  /** Which devices have credentials. */
  pairs(): Map<string, CredentialPair> {
    const { records } = this.#needs.devices;
    return new Map([...records].flatMap(([id, { pair }]) => (pair === undefined ? [] : [[id, pair]])));
  }

  /** A device was given credentials, or lost them; one that never came is forgotten with them. */
  pairChanged(deviceId: string, pair: CredentialPair | undefined): Promise<void> {
    const record = this.#needs.devices.recordOf(deviceId, "esp32");
    record.pair = pair;
    if (pair !== undefined || record.everConnected) return this.#needs.persistence.device(record);
    return this.#forget(deviceId);
  }

  /** Gives a device that has never been here its first tags. */
  async tagNew(id: string, tags: readonly string[]): Promise<void> {
    const record = this.#needs.devices.get(id);
    if (record === undefined || record.everConnected || record.tags.length > 0) return;
    record.tag(tags);
    await this.#needs.persistence.device(record);
  }

  /** Gives a device another alias, other tags, or another transport. */
  async change(
    principal: Principal,
    reference: string,
    { alias, tags, transport }: DeviceChange,
  ): Promise<DeviceDetail> {
    const { devices, store, toolset, persistence } = this.#needs;
    const record = devices.require(principal, reference);
    requireScope(principal, "admin");
    await store.ping();
    if (alias !== undefined) {
      if (!devices.names.isFree(alias, record.id)) throw aliasTaken(alias);
      // Another node may be giving it away in this moment.
      const renamed = await store.devices.rename(record.id, alias, true);
      if (renamed === "alias_taken") throw aliasTaken(alias);
      record.rename(alias);
    }
    if (tags !== undefined) record.tag(tags);
    if (transport !== undefined) {
      refuseProgram(record);
      record.offer(transport ?? undefined);
    }
    toolset.changed(record.id);
    await persistence.changed(record, alias !== undefined);
    return record.detail();
  }

  /** Forgets a device and all that hangs on it. Its calls stay in the history. */
  async remove(principal: Principal, reference: string): Promise<void> {
    const record = this.#needs.devices.require(principal, reference);
    requireScope(principal, "admin");
    refuseProgram(record);
    await this.#needs.store.ping();
    await this.#forget(record.id);
  }

  #forget(id: string): Promise<void> {
    const { written, told } = this.#needs.persistence.forget(id);
    this.#needs.replicas.forgetHere(id, written);
    this.#needs.forgetDevice(id);
    return told;
  }
}
