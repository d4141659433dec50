import { fromJson, identifier, optional, toJson } from "./codec.ts";
import type { Database } from "./engine.ts";
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

  async create(token: StoredToken): Promise<void> {
    await this.#db
      .insertInto("tendon_tokens")
      .values({
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
      })
      .execute();
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
