/**
 * Leases: which run of the gateway holds a thing that only one node may hold at a time. A lease has an owner and an
 * epoch, which is higher after every claim. Webhooks and HTTP devices have theirs in columns of their rows, so that a
 * write of the owner can require its epoch; others are settings.
 */
import { isObject } from "@tendon/protocol";
import { sql } from "kysely";
import { optional } from "./codec.ts";
import type { Database } from "./engine.ts";
import type { Settings } from "./settings.ts";

export interface Lease {
  readonly owner: string | undefined;
  readonly epoch: number;
}

export interface StoredLeases {
  get(name: string): Promise<Lease | undefined>;
  /** Takes the lease over. Returns the new epoch; `undefined` if another node was faster. */
  claim(name: string, known: Lease, owner: string): Promise<number | undefined>;
  release(name: string, epoch: number): Promise<void>;
}

export class RowLeases implements StoredLeases {
  readonly #db: Database;
  readonly #table: "tendon_webhooks" | "tendon_http_devices";

  constructor(db: Database, table: "tendon_webhooks" | "tendon_http_devices") {
    this.#db = db;
    this.#table = table;
  }

  async get(name: string): Promise<Lease | undefined> {
    const { rows } = await sql<{ owner: string | null; epoch: number }>`
      select owner, epoch from ${sql.table(this.#table)} where id = ${name}`.execute(this.#db);
    const [row] = rows;
    return row === undefined ? undefined : { owner: optional(row.owner), epoch: row.epoch };
  }

  async claim(name: string, { epoch }: Lease, owner: string): Promise<number | undefined> {
    const { rows } = await sql<{ epoch: number }>`
      update ${sql.table(this.#table)} set owner = ${owner}, epoch = ${epoch + 1}
      where id = ${name} and epoch = ${epoch} returning epoch`.execute(this.#db);
    return rows[0]?.epoch;
  }

  async release(name: string, epoch: number): Promise<void> {
    await sql`update ${sql.table(this.#table)} set owner = null where id = ${name} and epoch = ${epoch}`.execute(
      this.#db,
    );
  }
}

/** Nodes of 0.2 write `{owner}` without an epoch, and delete a lease to release it. */
export class SettingLeases implements StoredLeases {
  readonly #settings: Settings;
  readonly #prefix: string;

  constructor(settings: Settings, prefix: string) {
    this.#settings = settings;
    this.#prefix = prefix;
  }

  async get(name: string): Promise<Lease> {
    return read(await this.#stored(name));
  }

  async claim(name: string, known: Lease, owner: string): Promise<number | undefined> {
    const stored = await this.#stored(name);
    const lease = read(stored);
    if (lease.owner !== known.owner || lease.epoch !== known.epoch) return undefined;
    const epoch = lease.epoch + 1;
    return (await this.#settings.exchange(this.#keyOf(name), stored, { owner, epoch })) ? epoch : undefined;
  }

  async release(name: string, epoch: number): Promise<void> {
    const stored = await this.#stored(name);
    if (read(stored).epoch === epoch)
      await this.#settings.exchange(this.#keyOf(name), stored, { owner: null, epoch });
  }

  #stored(name: string): Promise<unknown> {
    return this.#settings.getOrMake(this.#keyOf(name), () => ({ owner: null, epoch: 0 }));
  }

  #keyOf(name: string): string {
    return `${this.#prefix}${name}`;
  }
}

function read(stored: unknown): Lease {
  const { owner, epoch } = isObject(stored) ? stored : {};
  return {
    owner: typeof owner === "string" ? owner : undefined,
    epoch: typeof epoch === "number" ? epoch : 0,
  };
}
