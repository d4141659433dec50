import { fromJson, identifier, optional, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";
import type { TokensTable } from "./tables.ts";

/** The devices of a token that is limited to some. */
interface TokenDevices {
  readonly ids: readonly string[];
  readonly tags: readonly string[];
}

export interface StoredToken {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the token, in hex. The token itself is shown once and never stored. */
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly devices: TokenDevices | undefined;
  readonly createdAt: number;
  /** The name of the principal that created it and the address it did so from; unknown for tokens of earlier versions. */
  readonly createdBy: string | undefined;
  readonly createdFrom: string | undefined;
  readonly expiresAt: number | undefined;
  readonly lastUsedAt: number | undefined;
  readonly lastUsedFrom: string | undefined;
  readonly revokedAt: number | undefined;
}

export class Tokens {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Returns false if a token that is neither revoked nor expired has this name. */
  async create(token: StoredToken): Promise<boolean> {
    return await atomically(this.#db, async (tx) => {
      await lockNames(tx, token.createdAt);
      const holder = await tx
        .selectFrom("tendon_tokens")
        .select("id")
        .where("name", "=", token.name)
        .where("revoked_at", "is", null)
        .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", token.createdAt)]))
        .limit(1)
        .executeTakeFirst();
      if (holder !== undefined) return false;
      await tx.insertInto("tendon_tokens").values(write(token)).execute();
      return true;
    });
  }

  /** Oldest first, revoked tokens included. */
  async all(): Promise<StoredToken[]> {
    const rows = await this.#db
      .selectFrom("tendon_tokens")
      .selectAll()
      .orderBy("created_at")
      .orderBy("id")
      .execute();
    return rows.map(read);
  }

  async get(id: string): Promise<StoredToken | undefined> {
    const row = await this.#db
      .selectFrom("tendon_tokens")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Returns true only for the caller that revoked it. */
  async revoke(id: string, at: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_tokens")
      .set({ revoked_at: at })
      .where("id", "=", id)
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }
}

/** In PostgreSQL, other creations wait here until this transaction ends, and then see its token. SQLite has one writer. */
async function lockNames(tx: Database, now: number): Promise<void> {
  await tx
    .insertInto("tendon_settings")
    .values({ key: "token names", value: toJson(true), changed_at: now })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ changed_at: now }))
    .execute();
}

function write(token: StoredToken): TokensTable {
  return {
    id: identifier(token.id, "the token's id"),
    name: token.name,
    hash: identifier(token.hash, "the token's hash"),
    scopes: toJson(token.scopes),
    devices: token.devices === undefined ? null : toJson(token.devices),
    created_at: token.createdAt,
    created_by: token.createdBy ?? null,
    created_from: token.createdFrom ?? null,
    expires_at: token.expiresAt ?? null,
    last_used_at: token.lastUsedAt ?? null,
    last_used_from: token.lastUsedFrom ?? null,
    revoked_at: token.revokedAt ?? null,
  };
}

function read(row: TokensTable): StoredToken {
  return {
    id: row.id,
    name: row.name,
    hash: row.hash,
    scopes: fromJson<string[]>(row.scopes),
    devices: row.devices === null ? undefined : fromJson<TokenDevices>(row.devices),
    createdAt: row.created_at,
    createdBy: optional(row.created_by),
    createdFrom: optional(row.created_from),
    expiresAt: optional(row.expires_at),
    lastUsedAt: optional(row.last_used_at),
    lastUsedFrom: optional(row.last_used_from),
    revokedAt: optional(row.revoked_at),
  };
}
