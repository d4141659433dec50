import { identifier } from "./codec.ts";
import type { Database } from "./engine.ts";

/** A session of a person who is signed in to the console. */
export interface StoredSession {
  /** SHA-256 of the cookie, in hex. The cookie itself is only in the browser. */
  readonly key: string;
  readonly principalId: string;
  /** Identifies the token that opened the session. It is not a secret. */
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

  /** Least recently used first. */
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

  /** Keeps the latest time, because several nodes may record uses of one session. */
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
