import type { Clock } from "../clock.ts";
import type { Database } from "./engine.ts";

export interface FirstAnswer {
  readonly digest: string;
  /** The run of the gateway that took it on. */
  readonly run: string;
  /** `undefined` while it is not known. */
  readonly answer: string | undefined;
}

/** Requests that run once under their key; whoever inserts the row runs it. */
export class FirstAnswers {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** `undefined`: it is the caller's to run; else what is known of it. */
  async claim(
    principal: string,
    key: string,
    { digest, run, expiresAt }: { digest: string; run: string; expiresAt: number },
  ): Promise<FirstAnswer | undefined> {
    await this.#db
      .deleteFrom("tendon_first_answers")
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .where("expires_at", "<=", this.#clock.now())
      .execute();
    const { numInsertedOrUpdatedRows } = await this.#db
      .insertInto("tendon_first_answers")
      .values({ principal, request_key: key, digest, run, answer: null, expires_at: expiresAt })
      .onConflict((conflict) => conflict.columns(["principal", "request_key"]).doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n ? undefined : await this.get(principal, key);
  }

  async get(principal: string, key: string): Promise<FirstAnswer | undefined> {
    const row = await this.#db
      .selectFrom("tendon_first_answers")
      .select(["digest", "run", "answer"])
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .executeTakeFirst();
    return row === undefined ? undefined : { ...row, answer: row.answer ?? undefined };
  }

  async finish(principal: string, key: string, answer: string): Promise<void> {
    await this.#db
      .updateTable("tendon_first_answers")
      .set({ answer })
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .execute();
  }

  /** It never reached its device, and may be tried again. */
  async release(principal: string, key: string): Promise<void> {
    await this.#db
      .deleteFrom("tendon_first_answers")
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .execute();
  }

  async forget(limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_first_answers")
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple("principal", "request_key"),
          "in",
          selectFrom("tendon_first_answers")
            .select(["principal", "request_key"])
            .where("expires_at", "<=", this.#clock.now())
            .limit(limit)
            .$asTuple("principal", "request_key"),
        ),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}
