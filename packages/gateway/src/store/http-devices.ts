import { identifier, optional } from "./codec.ts";
import type { Database } from "./engine.ts";
import { RowLeases } from "./leases.ts";
import type { HttpDevicesTable } from "./tables.ts";

export interface StoredHttpDevice {
  readonly id: string;
  /** `undefined` for a server of the configuration, whose address and headers are not stored. */
  readonly url: string | undefined;
  /** Sealed by the caller; the store cannot read them. */
  readonly headers: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly createdAt: number;
  readonly createdBy: string;
  /** The run of the gateway that holds the connection. Its writes need the epoch of its claim. */
  readonly owner: string | undefined;
  readonly epoch: number;
  /** Why the server cannot be used now. */
  readonly problem: string | undefined;
}

export class HttpDevices {
  readonly leases: RowLeases;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    this.leases = new RowLeases(db, "tendon_http_devices");
  }

  async all(): Promise<StoredHttpDevice[]> {
    return (await this.#db.selectFrom("tendon_http_devices").selectAll().orderBy("id").execute()).map(read);
  }

  async get(id: string): Promise<StoredHttpDevice | undefined> {
    const row = await this.#db
      .selectFrom("tendon_http_devices")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Returns false if the id is taken. */
  async add(device: StoredHttpDevice): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.#db
      .insertInto("tendon_http_devices")
      .values({
        id: identifier(device.id, "the device's id"),
        url: device.url ?? null,
        headers: device.headers ?? null,
        timeout_ms: device.timeoutMs ?? null,
        created_at: device.createdAt,
        created_by: device.createdBy,
        owner: device.owner ?? null,
        epoch: device.epoch,
        problem: device.problem ?? null,
      })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .executeTakeFirst();
    return (numInsertedOrUpdatedRows ?? 0n) > 0n;
  }

  async setProblem(id: string, problem: string | undefined): Promise<void> {
    await this.#db
      .updateTable("tendon_http_devices")
      .set({ problem: problem ?? null })
      .where("id", "=", id)
      .execute();
  }

  async remove(id: string): Promise<void> {
    await this.#db.deleteFrom("tendon_http_devices").where("id", "=", id).execute();
  }
}

function read(row: HttpDevicesTable): StoredHttpDevice {
  return {
    id: row.id,
    url: optional(row.url),
    headers: optional(row.headers),
    timeoutMs: optional(row.timeout_ms),
    createdAt: row.created_at,
    createdBy: row.created_by,
    owner: optional(row.owner),
    epoch: row.epoch,
    problem: optional(row.problem),
  };
}
