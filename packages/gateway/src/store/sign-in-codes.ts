import type { Clock } from "../clock.ts";
import { identifier } from "./codec.ts";
import type { Database } from "./engine.ts";

/** A one-time code of the console. */
export interface StoredSignInCode {
  /** SHA-256 of the code, in hex. */
  readonly key: string;
  readonly principalId: string;
  /** Identifies the token that made the code. It is not a secret. */
  readonly credential: string;
  readonly expiresAt: number;
}

export class SignInCodes {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async add({ key, principalId, credential, expiresAt }: StoredSignInCode): Promise<void> {
    await this.#db
      .insertInto("tendon_sign_in_codes")
      .values({
        key: identifier(key, "the code's key"),
        principal: identifier(principalId, "the principal's id"),
        credential,
        expires_at: expiresAt,
      })
      .execute();
  }

  /** Removes the code and returns it. Of several nodes that take one code, one gets it. */
  async take(key: string): Promise<StoredSignInCode | undefined> {
    const row = await this.#db
      .deleteFrom("tendon_sign_in_codes")
      .where("key", "=", key)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { principal: principalId, credential, expires_at: expiresAt } = row;
    return { key, principalId, credential, expiresAt };
  }

  async remove(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#db.deleteFrom("tendon_sign_in_codes").where("key", "in", keys).execute();
  }

  async prune(limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_sign_in_codes")
      .where(({ eb, selectFrom }) =>
        eb(
          "key",
          "in",
          selectFrom("tendon_sign_in_codes")
            .select("key")
            .where("expires_at", "<=", this.#clock.now())
            .limit(limit),
        ),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}
