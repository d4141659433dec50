/**
 * Saves the devices to the store. Writes of one device run in order; those of many devices share transactions. What the
 * store cannot take while it is unavailable is written when it is back.
 */
import type { Clock, Timer } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { Store, StoredPin } from "../store/store.ts";
import { type GroupedWrite, WriteGroups } from "../write-groups.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { PendingWrites } from "./pending-writes.ts";

export interface DevicePersistenceDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly online: () => readonly DeviceSession[];
  readonly onFault: (device: string, error: unknown) => void;
  /** The accepted tools of a device that differ from its list; `undefined` if none ever differed. */
  readonly pinsOf: (device: string) => readonly Omit<StoredPin, "device">[] | undefined;
  /** Called if another node has saved the alias for another device. */
  readonly onAliasTaken: (record: DeviceRecord, holder: string, parts: Parts) => Promise<void>;
}

type Parts = Pick<Store, "devices" | "names">;
type ToolParts = Parts & Pick<Store, "toolLists" | "toolPins">;

/** What to save of a device: its row, its tools, or both. */
interface DeviceChange {
  readonly record: DeviceRecord;
  readonly pending: PendingWrites | undefined;
  readonly tools: ToolChange | undefined;
}

interface ToolChange {
  readonly list: Parameters<Store["toolLists"]["save"]>[1];
  readonly pins: readonly Omit<StoredPin, "device">[] | undefined;
}

/** A write or the removal of a device. */
interface Write {
  readonly written: Promise<void>;
  /** Resolves when all other nodes have the change. */
  readonly announced: Promise<void>;
  readonly removed: boolean;
}

/** Called and awaited after each write, so that a change is visible on every node when its request returns. */
type Broadcast = (device: string, removed: boolean) => Promise<void>;

/** The precision of `lastSeenAt` after the gateway was killed. */
const lastSeenEveryMs = 60_000;

export class DevicePersistence {
  readonly #store: Store;
  readonly #onFault: (device: string, error: unknown) => void;
  readonly #pinsOf: DevicePersistenceDependencies["pinsOf"];
  readonly #onAliasTaken: DevicePersistenceDependencies["onAliasTaken"];
  readonly #lastSeen: Timer;
  #broadcast: Broadcast = async () => {};
  readonly #groups = new WriteGroups<DeviceChange>((group) => this.#writeGroup(group));
  /** The last pending write of each device. */
  readonly #writes = new Map<string, Write>();
  /** Writes that failed while the database was unavailable, to be repeated when it is back. */
  readonly #retries = new Map<string, { readonly retry: () => Promise<void>; readonly error: unknown }>();

  constructor({ store, clock, online, onFault, pinsOf, onAliasTaken }: DevicePersistenceDependencies) {
    this.#pinsOf = pinsOf;
    this.#onAliasTaken = onAliasTaken;
    this.#store = store;
    this.#onFault = onFault;
    this.#lastSeen = clock.every(lastSeenEveryMs, () => {
      for (const { deviceId, lastSeenAt } of online()) store.presence.deviceSeen(deviceId, lastSeenAt);
    });
    store.onAvailable(() => void this.#retryAll());
  }

  broadcastWith(broadcast: Broadcast): void {
    this.#broadcast = broadcast;
  }

  /** Saves the device if it has changed. Resolves when the device is stored. */
  save(record: DeviceRecord): Promise<void> {
    const pending = record.takePendingWrites();
    // An earlier write of the same values may still be pending.
    if (pending === undefined) return this.#writes.get(record.id)?.announced ?? Promise.resolve();
    return this.#saveRecord({ record, pending, tools: undefined });
  }

  /** Saves the device and its tools in one transaction. */
  saveWithTools(record: DeviceRecord): Promise<void> {
    return this.#writeTools(record, record.takePendingWrites());
  }

  /** Saves the complete device, also the fields that have not changed. */
  #saveAll(record: DeviceRecord): Promise<void> {
    record.takePendingWrites();
    return this.#writeTools(record, { row: record.stored(), changed: undefined });
  }

  #writeTools(record: DeviceRecord, pending: PendingWrites | undefined): Promise<void> {
    const { catalogue, id } = record;
    const { complete, problem, setAside, truncated } = catalogue;
    const list = { tools: catalogue.tools(), setAside, complete, problem, truncated };
    return this.#saveRecord({ record, pending, tools: { list, pins: this.#pinsOf(id) } });
  }

  /** In one transaction. Devices that stop it are written one by one. */
  async #writeGroup(group: readonly GroupedWrite<DeviceChange>[]): Promise<void> {
    const alone = await this.#saveTogether(group);
    for (const { item, resolve, reject } of alone) await this.#saveAlone(item).then(resolve, reject);
  }

  /** Returns the writes that have to be repeated alone. */
  async #saveTogether(group: readonly GroupedWrite<DeviceChange>[]) {
    if (group.length === 1) return group;
    const changes = group.map(({ item }) => item);
    const writes = changes.map(({ record, pending, tools }) => ({
      device: pending?.row ?? record.stored(),
      only: pending === undefined ? [] : pending.changed,
      list: tools?.list,
    }));
    try {
      const taken = await this.#store.saveDevices(writes, async (parts) => {
        for (const { record, tools } of changes)
          if (tools !== undefined) await this.#saveToolDetails(record, tools, parts);
      });
      for (const { item, resolve } of group) if (!taken.has(item.record.id)) resolve();
      return taken.size === 0 ? [] : group.filter(({ item }) => taken.has(item.record.id));
    } catch (error) {
      if (!isUnavailable(error)) return group;
      for (const { reject } of group) reject(error);
      return [];
    }
  }

  async #saveAlone({ record, pending, tools }: DeviceChange): Promise<void> {
    if (tools === undefined) {
      if (pending !== undefined) await this.#save(record, pending, this.#store);
      return;
    }
    await this.#store.transaction(async (parts) => {
      if (pending !== undefined) await this.#save(record, pending, parts);
      await parts.toolLists.save(record.id, tools.list);
      await this.#saveToolDetails(record, tools, parts);
    });
  }

  /** What most devices do not have: tools that differ from the accepted ones, and names that cannot be derived. */
  async #saveToolDetails(record: DeviceRecord, { pins }: ToolChange, parts: ToolParts): Promise<void> {
    if (pins !== undefined) await parts.toolPins.save(record.id, pins);
    const dropped = record.pruneNames();
    await parts.names.claim(record.specialNames());
    await parts.names.remove(dropped);
  }

  /** Two nodes may assign the same alias at the same time. The first write wins, and the other device takes a new one. */
  async #save(record: DeviceRecord, { row, changed }: PendingWrites, parts: Parts): Promise<void> {
    let [next, fields] = [row, changed];
    while ((await parts.devices.save(next, fields)) === "alias_taken") {
      const holder = await parts.devices.deviceByAlias(next.alias);
      if (holder !== undefined && holder !== record.id) await this.#onAliasTaken(record, holder, parts);
      const since = record.takePendingWrites();
      next = since?.row ?? record.stored();
      fields = fields === undefined ? undefined : [...fields, ...(since?.changed ?? [])];
    }
  }

  isWriting(device: string): boolean {
    return this.#writes.has(device) || this.#retries.has(device);
  }

  /** A new alias gives the tools new names, which are saved too. */
  saveChange(record: DeviceRecord, renamed: boolean): Promise<void> {
    return renamed ? this.saveWithTools(record) : this.save(record);
  }

  /** Presence is written in batches, a moment later. */
  seen(record: DeviceRecord, at: number, transport: string): void {
    this.#store.presence.deviceSeen(record.id, at, transport);
  }

  disconnected(record: DeviceRecord, seenAt: number, at: number, reason: string): void {
    this.#store.presence.deviceLeft(record.id, seenAt, at, reason);
  }

  remove(id: string): Write {
    const write = async () => {
      await this.#store.devices.remove(id);
    };
    return this.#enqueue(id, write, () => this.remove(id).announced, true);
  }

  /** Another node has deleted the device. A pending write here could restore it, so it is removed again. */
  removedRemotely(id: string): Pick<Write, "written" | "announced"> {
    this.#retries.delete(id);
    if (this.#writes.get(id)?.removed === false) return this.remove(id);
    return { written: Promise.resolve(), announced: Promise.resolve() };
  }

  /** Resolves when all pending writes have ended, with or without success. */
  async close(): Promise<void> {
    this.#lastSeen.cancel();
    await Promise.allSettled([...this.#writes.values()].map(({ announced }) => announced));
    for (const [device, { error }] of this.#retries) this.#onFault(device, error);
    this.#retries.clear();
  }

  /** A failed write marks the record as unsaved, so that the next attempt writes it. */
  #saveRecord(change: DeviceChange): Promise<void> {
    const { record } = change;
    const write = () => this.#groups.add(change);
    const { announced: mine } = this.#enqueue(record.id, write, () => this.#saveAll(record));
    mine.catch(() => record.markUnsaved());
    return mine;
  }

  /** `retry` repeats the write when the database is back. Only the latest one of a device is kept. */
  #enqueue(device: string, write: () => Promise<void>, retry: () => Promise<void>, removed = false): Write {
    const before = this.#writes.get(device)?.written ?? Promise.resolve();
    const written = before.then(write, write);
    const announced = written.then(() => this.#broadcast(device, removed));
    const mine = { written, announced, removed };
    this.#writes.set(device, mine);
    const done = () => {
      if (this.#writes.get(device) === mine) this.#writes.delete(device);
    };
    announced.then(done, (error: unknown) => {
      done();
      if (isUnavailable(error)) this.#retries.set(device, { retry, error });
      else this.#onFault(device, error);
    });
    return mine;
  }

  /** Runs one at a time, so that other requests do not wait for the writes of a whole fleet. */
  async #retryAll(): Promise<void> {
    const retries = [...this.#retries.values()];
    this.#retries.clear();
    for (const { retry } of retries) await retry().catch(() => {});
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof TendonError && error.code === "storage_unavailable";
}
