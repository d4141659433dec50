import type { Clock } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";
import { takenOver } from "../events/events.ts";
import type { Store } from "../store/store.ts";
import type { CredentialPair } from "./credential-pair.ts";
import type { DevicePersistence } from "./device-persistence.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { Drift } from "./drift/drift.ts";
import type { FirmwareUpgrades } from "./firmware-upgrades.ts";
import type { KnownDevices } from "./known-devices.ts";
import type { ToolsetChanges } from "./toolset-changes.ts";

/** A broadcast about a device may be this late. It must not bring back a device that was deleted meanwhile. */
const deletedKeptMs = 60_000;

export interface ReplicaSyncDependencies {
  readonly clock: Clock;
  readonly store: Store;
  readonly devices: KnownDevices;
  readonly persistence: DevicePersistence;
  readonly drift: Drift;
  readonly toolset: ToolsetChanges;
  readonly upgrades: FirmwareUpgrades;
  /** Attaches the handle of a device on another node, once this node has its record. */
  readonly attachRemote: (id: string) => void;
}

interface Read {
  readonly now: Promise<CredentialPair | undefined>;
  next: Promise<CredentialPair | undefined> | undefined;
}

/** Applies to this node what other nodes report and save about devices. */
export class ReplicaSync {
  readonly #dependencies: ReplicaSyncDependencies;
  readonly #reads = new Map<string, Read>();
  /** Running reads. A device that is deleted meanwhile must not be restored from an outdated read. */
  readonly #running = new Map<string, { outdated: boolean }>();
  /** Devices that are being removed from the store. */
  readonly #deleting = new Map<string, Promise<void>>();
  /** Recently deleted devices, with the time of the deletion. */
  readonly #deleted = new Map<string, number>();

  constructor(dependencies: ReplicaSyncDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reloads a device that another node has saved. Returns its current credentials. */
  async reload(id: string): Promise<CredentialPair | undefined> {
    const pair = await this.#read(id);
    this.#dependencies.attachRemote(id);
    return pair;
  }

  /** Another node reports a device online. Its tools are read when that node has saved them. */
  applyOnline(id: string, kind: DeviceSession["kind"], at: number): void {
    const { devices, attachRemote } = this.#dependencies;
    if (devices.get(id) !== undefined || (this.#deleted.get(id) ?? Number.NEGATIVE_INFINITY) >= at) return;
    devices.recordOf(id, kind).markSeen(at);
    // The directory entry may have arrived before this node had the record.
    attachRemote(id);
  }

  /** Another node reports why this device went offline. */
  applyOffline(id: string, at: number, reason: string): void {
    const record = this.#dependencies.devices.get(id);
    if (record?.isLocal === false && reason !== takenOver) record.setRemoteDisconnect(at, reason);
  }

  /** Gives the device a new alias, because another device owns the old one, and reads the names of both. */
  async resolveAliasConflict(
    record: DeviceRecord,
    holder: string,
    { names }: Pick<Store, "names">,
  ): Promise<void> {
    record.releaseAlias(holder);
    const assigned = [...(await names.ofDevice(record.id)), ...(await names.ofDevice(holder))];
    this.#dependencies.devices.names.restore(assigned);
    this.#dependencies.toolset.changed(record.id);
  }

  /** Another node has deleted the device. Resolves when this node has removed it too. */
  applyDeletion(id: string): Promise<void> {
    const { written, announced } = this.#dependencies.persistence.removedRemotely(id);
    this.deleteLocally(id, written);
    return announced;
  }

  /** Runs one read of a device at a time. Requests during a read share the next one, which sees the latest state. */
  #read(id: string): Promise<CredentialPair | undefined> {
    const running = this.#reads.get(id);
    if (running === undefined) return this.#startRead(id);
    const next = () => this.#startRead(id);
    running.next ??= running.now.then(next, next);
    return running.next;
  }

  #startRead(id: string): Promise<CredentialPair | undefined> {
    const read: Read = { now: this.#readNow(id), next: undefined };
    this.#reads.set(id, read);
    const done = () => {
      if (read.next === undefined) this.#reads.delete(id);
    };
    read.now.then(done, done);
    return read.now;
  }

  async #readNow(id: string): Promise<CredentialPair | undefined> {
    const { devices, toolLists, names, toolPins } = this.#dependencies.store;
    for (;;) {
      await this.#deleting.get(id);
      const reading = { outdated: false };
      this.#running.set(id, reading);
      try {
        const stored = await devices.get(id);
        if (stored === undefined) return undefined;
        const [list, assigned, pins] = await Promise.all([
          toolLists.get(id),
          names.ofDevice(id),
          toolPins.ofDevice(id),
        ]);
        if (!reading.outdated) return this.#apply(stored, list, assigned, pins);
      } finally {
        this.#running.delete(id);
      }
    }
  }

  /**
   * Removes a device that was deleted on this or another node. The node that holds its connection closes it. `removing`
   * resolves when the store has removed it too.
   */
  deleteLocally(id: string, removing: Promise<void>): void {
    const reading = this.#running.get(id);
    if (reading !== undefined) reading.outdated = true;
    const settled = removing.then(
      () => {},
      () => {},
    );
    this.#deleting.set(id, settled);
    void settled.then(() => {
      if (this.#deleting.get(id) === settled) this.#deleting.delete(id);
    });
    this.#markDeleted(id);
    const { devices, drift, toolset } = this.#dependencies;
    devices.get(id)?.handle?.close(1001, "the device was deleted");
    devices.forget(id);
    drift.forget(id);
    toolset.changed(id);
  }

  #markDeleted(id: string): void {
    const now = this.#dependencies.clock.now();
    this.#deleted.delete(id);
    this.#deleted.set(id, now);
    for (const [old, at] of this.#deleted) {
      if (now - at < deletedKeptMs) return;
      this.#deleted.delete(old);
    }
  }

  #apply(
    stored: NonNullable<Awaited<ReturnType<Store["devices"]["get"]>>>,
    list: Awaited<ReturnType<Store["toolLists"]["get"]>>,
    assigned: Awaited<ReturnType<Store["names"]["ofDevice"]>>,
    pins: Awaited<ReturnType<Store["toolPins"]["ofDevice"]>>,
  ): CredentialPair | undefined {
    const { devices, persistence, drift, toolset, upgrades } = this.#dependencies;
    const { id, alias } = stored;
    devices.names.setAlias(id, alias);
    const record = devices.restore(stored);
    if (!record.isLocal) upgrades.firmwareReported(id, stored.firmware);
    if (list !== undefined && !record.isLocal) {
      record.updateTools({ ...list, silent: false });
      record.listingDone();
    }
    devices.names.restore(assigned);
    record.pruneNames();
    // A pending write is newer than what was read.
    if (!persistence.isWriting(id)) {
      drift.forget(id);
      drift.restore(pins, (_, tool) => record.catalogue.find(tool));
    }
    toolset.changed(id);
    return record.pair;
  }
}
