import { sql } from "kysely";
import type { Clock } from "../clock.ts";
import type { Database } from "./engine.ts";

export interface IdempotencyRecord {
  readonly digest: string;
  /** Identifies the claim: the run of the gateway that executes the request, and a number. */
  readonly run: string;
  readonly expiresAt: number;
  /** `undefined` until the request has finished. */
  readonly answer: string | undefined;
}

/** Requests that run once per idempotency key. The caller that inserts the row runs the request. */
export class IdempotencyRecords {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** `undefined`: the caller runs the request. Otherwise the record of the earlier request. */
  async claim(
    principal: string,
    key: string,
    { digest, run, expiresAt }: { digest: string; run: string; expiresAt: number },
  ): Promise<IdempotencyRecord | undefined> {
    await this.#db
      .deleteFrom("tendon_first_answers")
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .where("expires_at", "<=", this.#clock.now())
      .execute();
    for (;;) {
      const { numInsertedOrUpdatedRows } = await this.#db
        .insertInto("tendon_first_answers")
        .values({ principal, request_key: key, digest, run, answer: null, expires_at: expiresAt })
        .onConflict((conflict) => conflict.columns(["principal", "request_key"]).doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 1n) return undefined;
      const known = await this.get(principal, key);
      // The other claim may have been released meanwhile. Only the inserted row gives the right to run the request.
      if (known !== undefined) return known;
    }
  }

  async get(principal: string, key: string): Promise<IdempotencyRecord | undefined> {
    const row = await this.#db
      .selectFrom("tendon_first_answers")
      .select(["digest", "run", "answer", "expires_at"])
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { digest, run, answer } = row;
    return { digest, run, answer: answer ?? undefined, expiresAt: Number(row.expires_at) };
  }

  /** Stores the answer of this claim. */
  async finish(principal: string, key: string, run: string, answer: string): Promise<void> {
    await this.#db
      .updateTable("tendon_first_answers")
      .set({ answer })
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .where("run", "=", run)
      .execute();
  }

  /** Deletes this claim of a request that never reached its device, so that a client can retry. */
  async release(principal: string, key: string, run: string): Promise<void> {
    await this.#db
      .deleteFrom("tendon_first_answers")
      .where("principal", "=", principal)
      .where("request_key", "=", key)
      .where("run", "=", run)
      .where("answer", "is", null)
      .execute();
  }

  /** Replaces the answers that name a device. The records stay, so that a repeated request still runs once only. */
  async replaceAnswersAbout(device: string, answer: string): Promise<void> {
    const named = `%"${device.replaceAll(/[\\%_]/g, String.raw`\$&`)}"%`;
    await this.#db
      .updateTable("tendon_first_answers")
      .set({ answer })
      .where(sql<boolean>`answer like ${named} escape '\\'`)
      .execute();
  }

  async prune(limit: number): Promise<number> {
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
