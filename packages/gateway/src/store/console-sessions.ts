import { identifier } from "./codec.ts";
import type { Database } from "./engine.ts";

/** A person who is signed in at the console. */
export interface StoredSession {
  /** SHA-256 of the cookie, in hex: the cookie itself is in the browser and nowhere else. */
  readonly key: string;
  readonly principalId: string;
  /** Names the token it was opened with and opens nothing. */
  readonly credential: string;
  readonly openedAt: number;
  readonly usedAt: number;
}

export class ConsoleSessions {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async add({ key, principalId, credential, openedAt, usedAt }: StoredSession): Promise<void> {
    await this.#db
      .insertInto("tendon_console_sessions")
      .values({
        key: identifier(key, "the session's key"),
        principal: identifier(principalId, "the principal's id"),
        credential,
        opened_at: openedAt,
        used_at: usedAt,
      })
      .execute();
  }

  /** The one idle longest first. */
  async all(): Promise<StoredSession[]> {
    const rows = await this.#db
      .selectFrom("tendon_console_sessions")
      .selectAll()
      .orderBy("used_at")
      .orderBy("key")
      .execute();
    return rows.map(({ key, principal, credential, opened_at, used_at }) => ({
      key,
      principalId: principal,
      credential,
      openedAt: opened_at,
      usedAt: used_at,
    }));
  }

  /** The last use of a session that several nodes know of is the latest one. */
  async used(key: string, at: number): Promise<void> {
    await this.#db
      .updateTable("tendon_console_sessions")
      .set({ used_at: at })
      .where("key", "=", key)
      .where("used_at", "<", at)
      .execute();
  }

  async remove(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#db.deleteFrom("tendon_console_sessions").where("key", "in", keys).execute();
  }
}
