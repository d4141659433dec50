/**
 * Keeps what the services knows in the store. Writes of one device follow one another; what a caller need not wait
 * for is not waited for, and a store that is away is its own to tell.
 */
import type { Clock, Timer } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { Store, StoredPin } from "../store/store.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { PendingWrites } from "./pending-writes.ts";

export interface DevicePersistenceNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly online: () => readonly DeviceSession[];
  readonly onFault: (device: string, error: unknown) => void;
  /** What was accepted of a device's tools and is not what it lists; `undefined` where that was never so. */
  readonly pinsOf: (device: string) => readonly Omit<StoredPin, "device">[] | undefined;
  /** Its alias is another device's, as another node has written down. */
  readonly aliasTaken: (record: DeviceRecord, holder: string, parts: Parts) => Promise<void>;
}

type Parts = Pick<Store, "devices" | "names">;

/** One write of a device, and its removal where it is gone. */
interface Write {
  readonly written: Promise<void>;
  /** Every other node has been told. */
  readonly told: Promise<void>;
  readonly gone: boolean;
}

/** Told after each write, and waited for: what a caller is told is true is true on every node. */
type Tell = (device: string, gone: boolean) => Promise<void>;

/** Of a gateway that ends by force, it is known this well when its devices were last there. */
const lastSeenEveryMs = 60_000;

export class DevicePersistence {
  readonly #store: Store;
  readonly #onFault: (device: string, error: unknown) => void;
  readonly #pinsOf: DevicePersistenceNeeds["pinsOf"];
  readonly #aliasTaken: DevicePersistenceNeeds["aliasTaken"];
  readonly #lastSeen: Timer;
  #tell: Tell = async () => {};
  /** The last write of each device that has one under way. */
  readonly #writes = new Map<string, Write>();
  /** What the database did not take while it was away, to be written when it is back. */
  readonly #owed = new Map<string, { readonly again: () => Promise<void>; readonly error: unknown }>();

  constructor({ store, clock, online, onFault, pinsOf, aliasTaken }: DevicePersistenceNeeds) {
    this.#pinsOf = pinsOf;
    this.#aliasTaken = aliasTaken;
    this.#store = store;
    this.#onFault = onFault;
    this.#lastSeen = clock.every(lastSeenEveryMs, () => {
      for (const { deviceId, lastSeenAt } of online()) store.presence.deviceSeen(deviceId, lastSeenAt);
    });
    store.onBack(() => void this.#payBack());
  }

  shareWith(tell: Tell): void {
    this.#tell = tell;
  }

  /** The whole device, on the disk when the promise resolves; nothing is written where nothing has changed. */
  device(record: DeviceRecord): Promise<void> {
    const unwritten = record.unwritten();
    // What has not changed may still be on its way to the disk.
    if (unwritten === undefined) return this.#writes.get(record.id)?.told ?? Promise.resolve();
    return this.#ofRecord(record, () => this.#save(record, unwritten, this.#store));
  }

  /** The device with what it can do, in one transaction: a fleet that comes for the first time pays for the disk once. */
  withTools(record: DeviceRecord): Promise<void> {
    return this.#writeTools(record, record.unwritten());
  }

  /** All there is to write of a device, whatever was written before. */
  #whole(record: DeviceRecord): Promise<void> {
    record.unwritten();
    return this.#writeTools(record, { row: record.stored(), changed: undefined });
  }

  #writeTools(record: DeviceRecord, unwritten: PendingWrites | undefined): Promise<void> {
    const { catalogue, id } = record;
    const { complete, problem, setAside } = catalogue;
    const list = { tools: catalogue.tools(), setAside, complete, problem };
    const pins = this.#pinsOf(id);
    return this.#ofRecord(record, async () => {
      await this.#store.transaction(async (parts) => {
        if (unwritten !== undefined) await this.#save(record, unwritten, parts);
        await parts.toolLists.save(id, list);
        if (pins !== undefined) await parts.toolPins.save(id, pins);
        const names = list.tools.map(({ name: tool }) => ({
          name: record.exposedName(tool),
          device: id,
          tool,
        }));
        await parts.names.claim(names);
      });
    });
  }

  /** Two nodes may give one alias at the same time: whoever is written first has it, the other looks for another. */
  async #save(record: DeviceRecord, { row, changed }: PendingWrites, parts: Parts): Promise<void> {
    let [next, fields] = [row, changed];
    while ((await parts.devices.save(next, fields)) === "alias_taken") {
      const holder = await parts.devices.holderOf(next.alias);
      if (holder !== undefined && holder !== record.id) await this.#aliasTaken(record, holder, parts);
      const since = record.unwritten();
      next = since?.row ?? record.stored();
      fields = fields === undefined ? undefined : [...fields, ...(since?.changed ?? [])];
    }
  }

  isWriting(device: string): boolean {
    return this.#writes.has(device) || this.#owed.has(device);
  }

  /** Under another alias its tools have other names, which are kept as those before are. */
  changed(record: DeviceRecord, renamed: boolean): Promise<void> {
    return renamed ? this.withTools(record) : this.device(record);
  }

  /** A device that came again: when and how is written with others, a moment later. */
  seen(record: DeviceRecord, at: number, transport: string): void {
    this.#store.presence.deviceSeen(record.id, at, transport);
  }

  left(record: DeviceRecord, seenAt: number, at: number, reason: string): void {
    this.#store.presence.deviceLeft(record.id, seenAt, at, reason);
  }

  forget(id: string): Write {
    const write = async () => {
      await this.#store.devices.remove(id);
    };
    return this.#after(id, write, () => this.forget(id).told, true);
  }

  /** What was on its way to the disk may have come after another node's deleting, and brought the device back. */
  goneElsewhere(id: string): Pick<Write, "written" | "told"> {
    this.#owed.delete(id);
    if (this.#writes.get(id)?.gone === false) return this.forget(id);
    return { written: Promise.resolve(), told: Promise.resolve() };
  }

  /** Resolves when everything that was handed over has been written, or has failed. */
  async close(): Promise<void> {
    this.#lastSeen.cancel();
    await Promise.allSettled([...this.#writes.values()].map(({ told }) => told));
    for (const [device, { error }] of this.#owed) this.#onFault(device, error);
    this.#owed.clear();
  }

  /** What could not be written counts as unwritten, so that the next attempt writes it. */
  #ofRecord(record: DeviceRecord, write: () => Promise<void>): Promise<void> {
    const { told: mine } = this.#after(record.id, write, () => this.#whole(record));
    mine.catch(() => record.notWritten());
    return mine;
  }

  /** `again`: how it is written once the database is back; what was asked for later counts. */
  #after(device: string, write: () => Promise<void>, again: () => Promise<void>, gone = false): Write {
    const before = this.#writes.get(device)?.written ?? Promise.resolve();
    const written = before.then(write, write);
    const told = written.then(() => this.#tell(device, gone));
    const mine = { written, told, gone };
    this.#writes.set(device, mine);
    const done = () => {
      if (this.#writes.get(device) === mine) this.#writes.delete(device);
    };
    told.then(done, (error: unknown) => {
      done();
      if (error instanceof TendonError && error.code === "storage_unavailable")
        this.#owed.set(device, { again, error });
      else this.#onFault(device, error);
    });
    return mine;
  }

  /** One after the other: a fleet's worth at once would keep everybody else waiting. */
  async #payBack(): Promise<void> {
    const owed = [...this.#owed.values()];
    this.#owed.clear();
    for (const { again } of owed) await again().catch(() => {});
  }
}
