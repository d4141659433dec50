import type { Clock } from "../clock.ts";
import { fromJson, identifier, optional, toJson } from "./codec.ts";
import { type Database, yieldToEventLoop } from "./engine.ts";
import { type ImportFilter, ImportList, type ImportPage } from "./import-list.ts";
import type { ImportsTable } from "./tables.ts";

/** A device of an imported list, which is admitted when it connects. */
export interface ImportedDevice {
  readonly device: string;
  readonly serial: string | undefined;
  /** The key for the serial's challenge. The caller encrypts it. */
  readonly sealedKey: string | undefined;
  readonly tags: readonly string[];
}

const batchRows = 1_000;

export class ImportedDevices {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #list: ImportList;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    this.#list = new ImportList(db);
  }

  /**
   * Adds devices in batches, each in one transaction, so that an interrupted import can be repeated. For a device
   * that is listed twice, the later row counts. All rows get the same time. Returns the number of rows.
   */
  async add(
    devices: Iterable<ImportedDevice> | AsyncIterable<ImportedDevice>,
    onProgress: (rows: number) => void = () => {},
    importedAt = this.#clock.now(),
  ): Promise<number> {
    let batch = new Map<string, ImportsTable>();
    let rows = 0;
    const write = async () => {
      if (batch.size > 0) await this.#write([...batch.values()]);
      batch = new Map();
      onProgress(rows);
      await yieldToEventLoop();
    };
    for await (const device of devices) {
      batch.set(device.device, {
        device: identifier(device.device, "the device's id"),
        serial: device.serial ?? null,
        sealed_key: device.sealedKey ?? null,
        tags: toJson(device.tags),
        imported_at: importedAt,
      });
      rows += 1;
      if (batch.size === batchRows) await write();
    }
    if (batch.size > 0) await write();
    return rows;
  }

  async get(device: string): Promise<ImportedDevice | undefined> {
    const row = await this.#db
      .selectFrom("tendon_imports")
      .selectAll()
      .where("device", "=", device)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Serial numbers are not unique: of several devices, the one that was imported last. */
  async deviceWith(serial: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom("tendon_imports")
      .select("device")
      .where("serial", "=", serial)
      .orderBy("imported_at", "desc")
      .orderBy("device")
      .executeTakeFirst();
    return row?.device;
  }

  /** The subset of the devices that was imported. */
  async of(devices: readonly string[]): Promise<Map<string, ImportedDevice>> {
    if (devices.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom("tendon_imports")
      .selectAll()
      .where("device", "in", [...new Set(devices)])
      .execute();
    return new Map(rows.map((row) => [row.device, read(row)]));
  }

  /** The number of rows that match. */
  async count(filter: ImportFilter = {}): Promise<number> {
    return await this.#list.count(filter);
  }

  /** At most `limit` rows after this id, in the order of ids. */
  async page(filter: ImportFilter, limit: number, after?: string): Promise<ImportPage> {
    return await this.#list.page(filter, limit, after);
  }

  async remove(device: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_imports")
      .where("device", "=", device)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  async #write(rows: readonly ImportsTable[]): Promise<void> {
    await this.#db
      .insertInto("tendon_imports")
      .values(rows)
      .onConflict((conflict) =>
        conflict.column("device").doUpdateSet((eb) => ({
          serial: eb.ref("excluded.serial"),
          sealed_key: eb.ref("excluded.sealed_key"),
          tags: eb.ref("excluded.tags"),
          imported_at: eb.ref("excluded.imported_at"),
        })),
      )
      .execute();
  }
}

function read(row: ImportsTable): ImportedDevice {
  return {
    device: row.device,
    serial: optional(row.serial),
    sealedKey: optional(row.sealed_key),
    tags: fromJson<string[]>(row.tags),
  };
}
