import type { Clock } from "../clock.ts";
import { claimAlias } from "./aliases.ts";
import { flag, identifier } from "./codec.ts";
import { columnsOf, readDevice, type StoredDevice, writeDevice } from "./device-row.ts";
import { atomically, type Database, pagesOf } from "./engine.ts";

/** Every device that the gateway knows. A write is durable when its promise resolves. */
export class Devices {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** All devices, ordered by id. */
  async all(): Promise<StoredDevice[]> {
    const devices: StoredDevice[] = [];
    const select = this.#db.selectFrom("tendon_devices").selectAll().orderBy("id");
    const pages = pagesOf(
      (after, limit) => select.where("id", ">", after).limit(limit).execute(),
      ({ id }) => id,
    );
    for await (const rows of pages) for (const row of rows) devices.push(readDevice(row));
    return devices;
  }

  async get(id: string): Promise<StoredDevice | undefined> {
    const row = await this.#db
      .selectFrom("tendon_devices")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : readDevice(row);
  }

  /**
   * Writes the whole device. With `only`, an existing device gets just these fields, so that a concurrent change by
   * another node, such as a revocation, is not overwritten.
   */
  async save(device: StoredDevice, only?: readonly (keyof StoredDevice)[]): Promise<"saved" | "alias_taken"> {
    const row = writeDevice({ ...device, id: identifier(device.id, "the device's id") });
    return await atomically(this.#db, async (tx) => {
      if (!(await claimAlias(tx, device.id, device.alias, this.#clock.now()))) return "alias_taken";
      const { id, ...rest } = row;
      const set = only === undefined ? rest : columnsOf(row, only);
      await tx
        .insertInto("tendon_devices")
        .values(row)
        .onConflict((conflict) => {
          const same = conflict.column("id");
          return Object.keys(set).length === 0 ? same.doNothing() : same.doUpdateSet(set);
        })
        .execute();
      return "saved";
    });
  }

  async rename(id: string, alias: string, chosen: boolean): Promise<"renamed" | "alias_taken" | "unknown"> {
    return await atomically(this.#db, async (tx) => {
      const device = await tx
        .selectFrom("tendon_devices")
        .select("id")
        .where("id", "=", id)
        .executeTakeFirst();
      if (device === undefined) return "unknown";
      if (!(await claimAlias(tx, id, alias, this.#clock.now()))) return "alias_taken";
      await tx
        .updateTable("tendon_devices")
        .set({ alias, alias_chosen: flag(chosen) })
        .where("id", "=", id)
        .execute();
      return "renamed";
    });
  }

  /** The device that has this alias now or had it before. */
  async deviceByAlias(alias: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom("tendon_aliases")
      .select("device")
      .where("alias", "=", alias)
      .executeTakeFirst();
    return row?.device;
  }

  /** Every alias that resolves, former ones included: alias -> device. */
  async aliases(): Promise<Map<string, string>> {
    const aliases = new Map<string, string>();
    const select = this.#db.selectFrom("tendon_aliases").select(["alias", "device"]).orderBy("alias");
    const pages = pagesOf(
      (after, limit) => select.where("alias", ">", after).limit(limit).execute(),
      ({ alias }) => alias,
    );
    for await (const rows of pages) for (const { alias, device } of rows) aliases.set(alias, device);
    return aliases;
  }

  /** Deletes a device and its data. Its calls stay in the history. */
  async remove(id: string): Promise<boolean> {
    return await atomically(this.#db, async (tx) => {
      await tx.deleteFrom("tendon_aliases").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_names").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_tool_lists").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_tool_pins").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_pairings").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_approvals").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_voice_accounts").where("device", "=", id).execute();
      await tx.deleteFrom("tendon_firmware_updates").where("device", "=", id).execute();
      const { numDeletedRows } = await tx
        .deleteFrom("tendon_devices")
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    });
  }
}
