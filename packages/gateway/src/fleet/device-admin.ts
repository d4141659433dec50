/** Changes of devices by people and by provisioning: aliases, tags, transports, credentials, deletion. */
import type { DeviceChange, DeviceDetail } from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import { TendonError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { CredentialPair } from "./credential-pair.ts";
import type { DevicePersistence } from "./device-persistence.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { KnownDevices } from "./known-devices.ts";
import { aliasTaken } from "./names.ts";
import { refuseProgram } from "./refuse-program.ts";
import type { ReplicaSync } from "./replica-sync.ts";
import type { ToolsetChanges } from "./toolset-changes.ts";

export interface DeviceAdminDependencies {
  readonly store: Store;
  readonly devices: KnownDevices;
  readonly persistence: DevicePersistence;
  readonly toolset: ToolsetChanges;
  readonly replicas: ReplicaSync;
  /** Ends the calls that wait for a device. */
  readonly cancelCalls: (id: string) => Promise<void>;
  /** Removes what other modules store about a device. */
  readonly forgetDevice: (id: string) => void;
  /** Whether the configuration of this node has a program with this alias. */
  readonly isProgramHere: (id: string) => boolean;
}

export class DeviceAdmin {
  readonly #dependencies: DeviceAdminDependencies;

  constructor(dependencies: DeviceAdminDependencies) {
    this.#dependencies = dependencies;
  }

  /** The id for a reference: an id in any spelling, or an alias. Returns an unknown reference unchanged. */
  idOf(reference: string): string {
    return this.#dependencies.devices.idOf(reference);
  }

  /** The device of this id, unless it has never connected and was not approved by a person. */
  find(id: string): DeviceRecord | undefined {
    const record = this.#dependencies.devices.get(id);
    return record?.isKnown === true ? record : undefined;
  }

  /** The ids of all records, including devices that have never connected. */
  ids(): Iterable<string> {
    return this.#dependencies.devices.records.keys();
  }

  /** The `device_unknown` error for a reference, with suggestions. */
  unknown(principal: Principal, reference: string): TendonError {
    return this.#dependencies.devices.unknown(principal, reference);
  }

  /** The credentials by device. */
  pairs(): Map<string, CredentialPair> {
    const { records } = this.#dependencies.devices;
    return new Map([...records].flatMap(([id, { pair }]) => (pair === undefined ? [] : [[id, pair]])));
  }

  /** Sets or removes the credentials of a device. A device that has never connected is deleted with them. */
  pairChanged(deviceId: string, pair: CredentialPair | undefined): Promise<void> {
    const record = this.#dependencies.devices.recordOf(deviceId, "esp32");
    record.pair = pair;
    if (pair !== undefined || record.everConnected) return this.#dependencies.persistence.save(record);
    return this.#forget(deviceId);
  }

  /** Sets the pair of a device that is coming online. Before its first tool list, it is stored together with that. */
  pairPinned(deviceId: string, pair: CredentialPair): void {
    const record = this.#dependencies.devices.recordOf(deviceId, "esp32");
    record.pair = pair;
    if (record.catalogue.size > 0) void this.#dependencies.persistence.save(record);
  }

  /** Sets the tags of a device that has never connected and has none. */
  async tagNew(id: string, tags: readonly string[]): Promise<void> {
    const record = this.#dependencies.devices.get(id);
    if (record === undefined || record.everConnected || record.tags.length > 0) return;
    record.tag(tags);
    await this.#dependencies.persistence.save(record);
  }

  /** Gives a device another alias, other tags, or another transport. */
  async change(
    principal: Principal,
    reference: string,
    { alias, tags, transport }: DeviceChange,
  ): Promise<DeviceDetail> {
    const { devices, store, toolset, persistence } = this.#dependencies;
    const record = devices.require(principal, reference);
    requireScope(principal, "admin");
    await store.ping();
    if (alias !== undefined) {
      if (!devices.names.isFree(alias, record.id)) throw aliasTaken(alias);
      // Another node may be assigning the same alias at this moment.
      const renamed = await store.devices.rename(record.id, alias, true);
      if (renamed === "alias_taken") throw aliasTaken(alias);
      record.rename(alias);
    }
    if (tags !== undefined) record.tag(tags);
    if (transport !== undefined) {
      refuseProgram(record);
      record.setTransport(transport ?? undefined);
    }
    toolset.changed(record.id);
    await persistence.saveChange(record, alias !== undefined);
    return record.detail();
  }

  /** Deletes a device with its names, tools and credentials. Its calls stay in the history. */
  async remove(principal: Principal, reference: string): Promise<void> {
    const record = this.#dependencies.devices.require(principal, reference);
    requireScope(principal, "admin");
    if (record.kind === "process") this.#refuseRunning(record);
    await this.#dependencies.store.ping();
    // First, because clients do not get events of a device that is gone.
    await this.#dependencies.cancelCalls(record.id);
    await this.#forget(record.id);
  }

  /** A program that no configuration has is a record like any other. */
  #refuseRunning(record: DeviceRecord): void {
    if (this.#dependencies.isProgramHere(record.id))
      throw new TendonError(
        "conflict",
        "this device is a program from the configuration; remove it from tendon.yaml, restart the gateway, then delete it",
      );
    if (record.handle !== undefined)
      throw new TendonError(
        "conflict",
        "this device is a program that another node runs; remove it from the tendon.yaml of that node",
      );
  }

  #forget(id: string): Promise<void> {
    const { written, announced } = this.#dependencies.persistence.remove(id);
    this.#dependencies.replicas.deleteLocally(id, written);
    this.#dependencies.forgetDevice(id);
    return announced;
  }
}
