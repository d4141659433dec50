/** Jobs of calls to many devices of which some are queued. They end when the last queued call has ended. */
import type { JsonObject } from "@tendon/protocol";
import { fromJson, identifier, toJson } from "./codec.ts";
import type { Database } from "./engine.ts";

export interface StoredJob {
  readonly id: string;
  /** The id of the token. */
  readonly principal: string;
  readonly createdAt: number;
  readonly total: number;
  /** The results of the calls that were not queued, as the caller defines them. */
  readonly results: readonly JsonObject[];
}

export class Jobs {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async save({ id, principal, createdAt, total, results }: StoredJob): Promise<void> {
    const row = {
      id: identifier(id, "the job's id"),
      principal,
      created_at: createdAt,
      total,
      results: toJson(results),
    };
    await this.#db
      .insertInto("tendon_jobs")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ results: row.results }))
      .execute();
  }

  async find(id: string): Promise<StoredJob | undefined> {
    const row = await this.#db.selectFrom("tendon_jobs").selectAll().where("id", "=", id).executeTakeFirst();
    if (row === undefined) return undefined;
    return {
      id: row.id,
      principal: row.principal,
      createdAt: row.created_at,
      total: row.total,
      results: fromJson<JsonObject[]>(row.results),
    };
  }

  async prune(olderThan: number, limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_jobs")
      .where("id", "in", (eb) =>
        eb.selectFrom("tendon_jobs").select("id").where("created_at", "<", olderThan).limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}
