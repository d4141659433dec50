import type { Clock } from "../clock.ts";
import { fromJson, identifier, toJson } from "./codec.ts";
import type { Database } from "./engine.ts";
import { StoreError } from "./store-error.ts";

const attempts = 3;

/** Single values by name: keys that the nodes share, and other values without their own table. */
export class Settings {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async get(key: string): Promise<unknown> {
    const row = await this.#db
      .selectFrom("tendon_settings")
      .select("value")
      .where("key", "=", key)
      .executeTakeFirst();
    return row === undefined ? undefined : fromJson<unknown>(row.value);
  }

  /** All settings with this prefix, keyed by the rest of their names. */
  async startingWith(prefix: string): Promise<Map<string, unknown>> {
    const rows = await this.#db
      .selectFrom("tendon_settings")
      .select(["key", "value"])
      .where("key", "like", `${prefix}%`)
      .execute();
    const found = rows.filter(({ key }) => key.startsWith(prefix));
    return new Map(found.map(({ key, value }) => [key.slice(prefix.length), fromJson<unknown>(value)]));
  }

  /** The first caller sets the value. All callers get that value. */
  async getOrMake(key: string, make: () => unknown): Promise<unknown> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const known = await this.get(key);
      if (known !== undefined) return known;
      await this.#db
        .insertInto("tendon_settings")
        .values(this.#row(key, make()))
        .onConflict((conflict) => conflict.column("key").doNothing())
        .execute();
    }
    throw new StoreError("unavailable", "a setting was removed repeatedly while it was created");
  }

  async set(key: string, value: unknown): Promise<void> {
    const row = this.#row(key, value);
    await this.#db
      .insertInto("tendon_settings")
      .values(row)
      .onConflict((conflict) =>
        conflict.column("key").doUpdateSet({ value: row.value, changed_at: row.changed_at }),
      )
      .execute();
  }

  /** Sets the value if it is still `expected`. Returns true only for the caller that set it. */
  async exchange(key: string, expected: unknown, value: unknown): Promise<boolean> {
    const { value: text, changed_at } = this.#row(key, value);
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_settings")
      .set({ value: text, changed_at })
      .where("key", "=", key)
      .where("value", "=", toJson(expected))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async remove(key: string): Promise<void> {
    await this.#db.deleteFrom("tendon_settings").where("key", "=", key).execute();
  }

  #row(key: string, value: unknown) {
    return {
      key: identifier(key, "the setting's name"),
      value: toJson(value),
      changed_at: this.#clock.now(),
    };
  }
}
