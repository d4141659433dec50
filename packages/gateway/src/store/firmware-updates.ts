import type { Clock } from "../clock.ts";
import { identifier, optional } from "./codec.ts";
import type { Database } from "./engine.ts";
import type { FirmwareUpdatesTable } from "./tables.ts";

/**
 * The progress of a device with an image. `fetched`: downloaded completely. `started`: the device runs it and should
 * connect. `excused`: failed before a person resumed the roll-out.
 */
export type UpdateState = "offered" | "fetched" | "started" | "updated" | "failed" | "excused";

export interface FirmwareUpdate {
  readonly image: string;
  readonly device: string;
  readonly state: UpdateState;
  /** The number of offers. */
  readonly offers: number;
  /** When a pending update counts as failed. */
  readonly dueAt: number | undefined;
  readonly reason: string | undefined;
  readonly changedAt: number;
}

export type UpdateCounts = { readonly [State in UpdateState]: number };

/** One row for each device and each image that it was offered. */
export class FirmwareUpdates {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async ofDevice(device: string): Promise<FirmwareUpdate[]> {
    const rows = await this.#db
      .selectFrom("tendon_firmware_updates")
      .selectAll()
      .where("device", "=", device)
      .execute();
    return rows.map(read);
  }

  async get(image: string, device: string): Promise<FirmwareUpdate | undefined> {
    const row = await this.#db
      .selectFrom("tendon_firmware_updates")
      .selectAll()
      .where("image", "=", image)
      .where("device", "=", device)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Records one more offer. */
  async offered(image: string, device: string): Promise<void> {
    const changed = { state: "offered", due_at: null, reason: null, changed_at: this.#clock.now() };
    await this.#db
      .insertInto("tendon_firmware_updates")
      .values({ image, device: identifier(device, "the device's id"), offers: 1, ...changed })
      .onConflict((conflict) =>
        conflict.columns(["image", "device"]).doUpdateSet((eb) => ({
          ...changed,
          offers: eb("tendon_firmware_updates.offers", "+", 1),
        })),
      )
      .execute();
  }

  /** Uncounts an offer that the device could not accept for a reason of the gateway. */
  async withdrawOffer(image: string, device: string): Promise<void> {
    await this.#db
      .updateTable("tendon_firmware_updates")
      .set((eb) => ({ offers: eb("offers", "-", 1) }))
      .where("image", "=", image)
      .where("device", "=", device)
      .where("offers", ">", 0)
      .execute();
  }

  /** Changes the state only from one of `from`, so that only one of several callers acts on a change. */
  async move(
    { image, device }: { readonly image: string; readonly device: string },
    from: readonly UpdateState[],
    to: { readonly state: UpdateState; readonly dueAt?: number; readonly reason?: string },
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_firmware_updates")
      .set({
        state: to.state,
        due_at: to.dueAt ?? null,
        reason: to.reason ?? null,
        changed_at: this.#clock.now(),
      })
      .where("image", "=", image)
      .where("device", "=", device)
      .where("state", "in", from)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Pending updates past their due time. */
  async overdue(limit: number): Promise<FirmwareUpdate[]> {
    const rows = await this.#db
      .selectFrom("tendon_firmware_updates")
      .selectAll()
      .where("due_at", "<=", this.#clock.now())
      .orderBy("due_at")
      .limit(limit)
      .execute();
    return rows.map(read);
  }

  /** Devices with an unfinished update. */
  async devicesInProgress(): Promise<string[]> {
    const rows = await this.#db
      .selectFrom("tendon_firmware_updates")
      .select("device")
      .distinct()
      .where("state", "in", ["offered", "fetched", "started"])
      .execute();
    return rows.map(({ device }) => device);
  }

  /** Counts by image. An image that was never offered has no entry. */
  async counts(image?: string): Promise<Map<string, UpdateCounts>> {
    const rows = await this.#db
      .selectFrom("tendon_firmware_updates")
      .select(["image", "state", (eb) => eb.fn.countAll().as("count")])
      .$if(image !== undefined, (query) => query.where("image", "=", image ?? ""))
      .groupBy(["image", "state"])
      .execute();
    const counts = new Map<string, UpdateCounts>();
    for (const row of rows) {
      counts.set(row.image, { ...(counts.get(row.image) ?? none), [row.state]: Number(row.count) });
    }
    return counts;
  }

  /** Failed devices, latest first. */
  async failures(image: string, limit: number): Promise<FirmwareUpdate[]> {
    const rows = await this.#db
      .selectFrom("tendon_firmware_updates")
      .selectAll()
      .where("image", "=", image)
      .where("state", "in", ["failed", "excused"])
      .orderBy("changed_at", "desc")
      .orderBy("device")
      .limit(limit)
      .execute();
    return rows.map(read);
  }

  /** Earlier failures no longer count against the image. With `retry`, the failed devices are offered it again. */
  async excuse(image: string, retry: boolean): Promise<void> {
    if (retry) {
      await this.#db
        .updateTable("tendon_firmware_updates")
        .set({ state: "offered", offers: 0, reason: null })
        .where("image", "=", image)
        .where("state", "in", ["failed", "excused", "offered"])
        .execute();
      return;
    }
    await this.#db
      .updateTable("tendon_firmware_updates")
      .set({ state: "excused" })
      .where("image", "=", image)
      .where("state", "=", "failed")
      .execute();
  }

  async removeImage(image: string): Promise<void> {
    await this.#db.deleteFrom("tendon_firmware_updates").where("image", "=", image).execute();
  }
}

const none: UpdateCounts = { offered: 0, fetched: 0, started: 0, updated: 0, failed: 0, excused: 0 };

function read(row: FirmwareUpdatesTable): FirmwareUpdate {
  return {
    image: row.image,
    device: row.device,
    // Safe: only the methods above fill this column.
    state: row.state as UpdateState,
    offers: row.offers,
    dueAt: optional(row.due_at),
    reason: optional(row.reason),
    changedAt: row.changed_at,
  };
}
