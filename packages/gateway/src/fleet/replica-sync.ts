import { normaliseDeviceId } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
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
const rememberedMs = 60_000;

export interface ReplicaSyncNeeds {
  readonly clock: Clock;
  readonly store: Store;
  readonly devices: KnownDevices;
  readonly persistence: DevicePersistence;
  readonly drift: Drift;
  readonly toolset: ToolsetChanges;
  readonly upgrades: FirmwareUpgrades;
  /** Shows where the directory has placed a device, now that this node knows of it. */
  readonly shown: (id: string) => void;
}

interface Read {
  readonly now: Promise<CredentialPair | undefined>;
  next: Promise<CredentialPair | undefined> | undefined;
}

/** What other nodes say and have written down of devices, as this one learns of it. */
export class ReplicaSync {
  readonly #needs: ReplicaSyncNeeds;
  readonly #reads = new Map<string, Read>();
  /** Reads under way; what is deleted meanwhile must not come back with what they found before. */
  readonly #underWay = new Map<string, { overtaken: boolean }>();
  /** Devices that are being removed from the store. */
  readonly #deleting = new Map<string, Promise<void>>();
  /** Those that lately were, and when. */
  readonly #deleted = new Map<string, number>();

  constructor(needs: ReplicaSyncNeeds) {
    this.#needs = needs;
  }

  /** Reads a device anew that another node has written down; gives its credentials as they are now. */
  async readAgain(id: string): Promise<CredentialPair | undefined> {
    const pair = await this.#read(id);
    this.#needs.shown(id);
    return pair;
  }

  /** Another node says that this device is there; what it can do is read when that has been written down. */
  heardOf(id: string, at: number): void {
    const { devices, shown } = this.#needs;
    if (devices.get(id) !== undefined || (this.#deleted.get(id) ?? Number.NEGATIVE_INFINITY) >= at) return;
    devices.recordOf(id, normaliseDeviceId(id) === undefined ? "process" : "esp32").heardOf(at);
    // The directory may have placed it before this node knew of it.
    shown(id);
  }

  /** Another node says why this device went. */
  heardGone(id: string, at: number, reason: string): void {
    const record = this.#needs.devices.get(id);
    if (record?.isHere === false && reason !== takenOver) record.leftElsewhere(at, reason);
  }

  /** A device here turns out to go by another's alias: it takes another, and the names that went with it are read. */
  async aliasTaken(record: DeviceRecord, holder: string, { names }: Pick<Store, "names">): Promise<void> {
    record.giveUpAlias(holder);
    const given = [...(await names.ofDevice(record.id)), ...(await names.ofDevice(holder))];
    this.#needs.devices.names.restore(new Map(), given);
    this.#needs.toolset.changed(record.id);
  }

  /** Another node has deleted it; resolves when nothing of it is left here either. */
  forget(id: string): Promise<void> {
    const { written, told } = this.#needs.persistence.goneElsewhere(id);
    this.forgetHere(id, written);
    return told;
  }

  /** One after the other, and one more for all who ask meanwhile: what was read last is what counts. */
  #read(id: string): Promise<CredentialPair | undefined> {
    const running = this.#reads.get(id);
    if (running === undefined) return this.#begin(id);
    const next = () => this.#begin(id);
    running.next ??= running.now.then(next, next);
    return running.next;
  }

  #begin(id: string): Promise<CredentialPair | undefined> {
    const read: Read = { now: this.#readNow(id), next: undefined };
    this.#reads.set(id, read);
    const done = () => {
      if (read.next === undefined) this.#reads.delete(id);
    };
    read.now.then(done, done);
    return read.now;
  }

  async #readNow(id: string): Promise<CredentialPair | undefined> {
    const { devices, toolLists, names, toolPins } = this.#needs.store;
    for (;;) {
      await this.#deleting.get(id);
      const reading = { overtaken: false };
      this.#underWay.set(id, reading);
      try {
        const stored = await devices.get(id);
        if (stored === undefined) return undefined;
        const [list, given, pins] = await Promise.all([
          toolLists.get(id),
          names.ofDevice(id),
          toolPins.ofDevice(id),
        ]);
        if (!reading.overtaken) return this.#take(stored, list, given, pins);
      } finally {
        this.#underWay.delete(id);
      }
    }
  }

  /**
   * It was deleted, here or on another node; the node that holds its connection closes it. `removing`: until it is
   * gone from the store too.
   */
  forgetHere(id: string, removing: Promise<void>): void {
    const reading = this.#underWay.get(id);
    if (reading !== undefined) reading.overtaken = true;
    const settled = removing.then(
      () => {},
      () => {},
    );
    this.#deleting.set(id, settled);
    void settled.then(() => {
      if (this.#deleting.get(id) === settled) this.#deleting.delete(id);
    });
    this.#noteDeleted(id);
    const { devices, drift, toolset } = this.#needs;
    devices.get(id)?.handle?.close(1001, "the device was deleted");
    devices.forget(id);
    drift.forget(id);
    toolset.changed(id);
  }

  #noteDeleted(id: string): void {
    const now = this.#needs.clock.now();
    this.#deleted.delete(id);
    this.#deleted.set(id, now);
    for (const [old, at] of this.#deleted) {
      if (now - at < rememberedMs) return;
      this.#deleted.delete(old);
    }
  }

  #take(
    stored: NonNullable<Awaited<ReturnType<Store["devices"]["get"]>>>,
    list: Awaited<ReturnType<Store["toolLists"]["get"]>>,
    given: Awaited<ReturnType<Store["names"]["ofDevice"]>>,
    pins: Awaited<ReturnType<Store["toolPins"]["ofDevice"]>>,
  ): CredentialPair | undefined {
    const { devices, persistence, drift, toolset, upgrades } = this.#needs;
    const { id, alias } = stored;
    devices.names.restore(new Map([[alias, id]]), given);
    const record = devices.restore(stored);
    if (!record.isHere) upgrades.heardOf(id, stored.firmware);
    if (list !== undefined && !record.isHere) {
      record.catalogue.restore(list);
      record.listingDone();
    }
    // What is on its way to the store is newer than what was read from it.
    if (!persistence.isWriting(id)) {
      drift.forget(id);
      drift.restore(pins, (_, tool) => record.catalogue.find(tool));
    }
    toolset.changed(id);
    return record.pair;
  }
}
