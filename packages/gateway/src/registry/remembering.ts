/**
 * Keeps what the registry knows in the store. Writes of one device follow one another; what a caller need not wait
 * for is not waited for, and a store that is away is its own to tell.
 */
import type { Clock, Timer } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";
import type { Store } from "../store/store.ts";
import type { DeviceRecord } from "./device-record.ts";

export interface RememberingNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly online: () => readonly DeviceSession[];
  readonly onFault: (device: string, error: unknown) => void;
}

/** Told after each write, and waited for: what a caller is told is true is true on every node. */
type Tell = (device: string, gone: boolean) => Promise<void>;

/** Of a gateway that ends by force, it is known this well when its devices were last there. */
const lastSeenEveryMs = 60_000;

export class Remembering {
  readonly #store: Store;
  readonly #onFault: (device: string, error: unknown) => void;
  readonly #lastSeen: Timer;
  #tell: Tell = async () => {};
  /** The last write of each device that has one under way. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor({ store, clock, online, onFault }: RememberingNeeds) {
    this.#store = store;
    this.#onFault = onFault;
    this.#lastSeen = clock.every(lastSeenEveryMs, () => {
      for (const { deviceId, lastSeenAt } of online()) store.presence.deviceSeen(deviceId, lastSeenAt);
    });
  }

  shareWith(tell: Tell): void {
    this.#tell = tell;
  }

  /** The whole device, on the disk when the promise resolves; nothing is written where nothing has changed. */
  device(record: DeviceRecord): Promise<void> {
    const row = record.unwritten();
    // What has not changed may still be on its way to the disk.
    if (row === undefined) return this.#writes.get(record.id) ?? Promise.resolve();
    return this.#ofRecord(record, async () => {
      await this.#store.devices.save(row);
    });
  }

  /** The device with what it can do, in one transaction: a fleet that comes for the first time pays for the disk once. */
  withTools(record: DeviceRecord): Promise<void> {
    const { catalogue, id } = record;
    const names = catalogue.tools().map(({ name }) => ({ name: record.exposedName(name), tool: name }));
    const row = record.unwritten();
    const { complete, problem, setAside } = catalogue;
    const list = { tools: catalogue.tools(), setAside, complete, problem };
    return this.#ofRecord(record, async () => {
      await this.#store.transaction(async (parts) => {
        if (row !== undefined) await parts.devices.save(row);
        await parts.toolLists.save(id, list);
        await parts.names.claim(names.map(({ name, tool }) => ({ name, device: id, tool })));
      });
    });
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

  forget(id: string): Promise<void> {
    return this.#after(
      id,
      async () => {
        await this.#store.devices.remove(id);
      },
      true,
    );
  }

  /** Resolves when everything that was handed over has been written, or has failed. */
  async close(): Promise<void> {
    this.#lastSeen.cancel();
    await Promise.allSettled(this.#writes.values());
  }

  /** What could not be written counts as unwritten, so that the next attempt writes it. */
  #ofRecord(record: DeviceRecord, write: () => Promise<void>): Promise<void> {
    const mine = this.#after(record.id, write);
    mine.catch(() => record.notWritten());
    return mine;
  }

  #after(device: string, write: () => Promise<void>, gone = false): Promise<void> {
    const before = this.#writes.get(device) ?? Promise.resolve();
    const mine = before.then(write, write).then(() => this.#tell(device, gone));
    this.#writes.set(device, mine);
    const done = () => {
      if (this.#writes.get(device) === mine) this.#writes.delete(device);
    };
    mine.then(done, (error: unknown) => {
      done();
      this.#onFault(device, error);
    });
    return mine;
  }
}
