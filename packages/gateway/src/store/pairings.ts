import { limits } from "@tendon/protocol";
import type { Selectable } from "kysely";
import type { Clock } from "../clock.ts";
import { fromJson, identifier, optional, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";
import type { PairingsTable } from "./tables.ts";

/** A board that shows a code and waits to be let in. */
export interface Pairing {
  readonly device: string;
  readonly clientIdHash: string;
  readonly code: string;
  readonly challenge: string;
  /** What it said of itself, for whoever decides. */
  readonly details: unknown;
  readonly attempts: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When it proved to be the board of its serial number. */
  readonly provenAt: number | undefined;
}

export interface PairingRequest {
  readonly device: string;
  readonly clientIdHash: string;
  readonly challenge: string;
  readonly details: unknown;
  readonly expiresAt: number;
  /** Where it asked from; one source may have only so many codes. */
  readonly source: string;
  /** Asked again while the code it gives is another pair's. */
  readonly makeCode: () => string;
}

const codeAttempts = 20;
const listed = 500;

export class Pairings {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** The pair's code, new or the one it has; `undefined` when too many wait already. */
  async open(request: PairingRequest): Promise<Pairing | undefined> {
    const now = this.#clock.now();
    return await atomically(this.#db, async (tx) => {
      for (let attempt = 0; attempt < codeAttempts; attempt += 1) {
        await tx
          .deleteFrom("tendon_pairings")
          .where("device", "=", request.device)
          .where("client_id_hash", "=", request.clientIdHash)
          .where("expires_at", "<=", now)
          .execute();
        const known = await tx
          .selectFrom("tendon_pairings")
          .selectAll()
          .where("device", "=", request.device)
          .where("client_id_hash", "=", request.clientIdHash)
          .executeTakeFirst();
        if (known !== undefined) return read(known);
        if ((await this.#pending(tx)) >= limits.pendingPairs.max) return undefined;
        if ((await this.#pending(tx, request.source)) >= limits.pendingPairsPerSource.max) return undefined;
        const code = identifier(request.makeCode(), "the code");
        await tx
          .deleteFrom("tendon_pairings")
          .where("code", "=", code)
          .where("expires_at", "<=", now)
          .execute();
        // Without a target: the pair and the code can both be taken by another node just now.
        const made = await tx
          .insertInto("tendon_pairings")
          .values({
            device: identifier(request.device, "the device's id"),
            client_id_hash: identifier(request.clientIdHash, "the digest of the Client-Id"),
            code,
            challenge: request.challenge,
            details: toJson(request.details ?? null),
            attempts: 0,
            created_at: now,
            expires_at: request.expiresAt,
            source: request.source,
            proven_at: null,
          })
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .executeTakeFirst();
        if (made !== undefined) return read(made);
      }
      return undefined;
    });
  }

  async find(device: string, clientIdHash: string): Promise<Pairing | undefined> {
    const row = await this.#live()
      .where("device", "=", device)
      .where("client_id_hash", "=", clientIdHash)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  async byCode(code: string): Promise<Pairing | undefined> {
    const row = await this.#live().where("code", "=", code).executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Newest first. */
  async waiting(): Promise<Pairing[]> {
    const rows = await this.#live().orderBy("created_at", "desc").orderBy("code").limit(listed).execute();
    return rows.map(read);
  }

  /** Every board that waits under this id: copies of an id each have a code of their own. */
  async ofDevice(device: string): Promise<Pairing[]> {
    const rows = await this.#live().where("device", "=", device).orderBy("code").limit(listed).execute();
    return rows.map(read);
  }

  /** How many wait. */
  async count(): Promise<number> {
    return await this.#pending(this.#db);
  }

  async proved(device: string, clientIdHash: string): Promise<void> {
    await this.#db
      .updateTable("tendon_pairings")
      .set({ proven_at: this.#clock.now() })
      .where("device", "=", device)
      .where("client_id_hash", "=", clientIdHash)
      .where("proven_at", "is", null)
      .execute();
  }

  /** Uses the code up; of several callers one gets it. */
  async take(code: string): Promise<Pairing | undefined> {
    const row = await this.#db
      .deleteFrom("tendon_pairings")
      .where("code", "=", code)
      .where("expires_at", ">", this.#clock.now())
      .returningAll()
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** One more failed proof; says how many there were. */
  async failed(device: string, clientIdHash: string): Promise<number> {
    const row = await this.#db
      .updateTable("tendon_pairings")
      .set((eb) => ({ attempts: eb("attempts", "+", 1) }))
      .where("device", "=", device)
      .where("client_id_hash", "=", clientIdHash)
      .returning("attempts")
      .executeTakeFirst();
    return row?.attempts ?? 0;
  }

  /** Every code of the device, whichever Client-Id it came with; says whether there was one. */
  async remove(device: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_pairings")
      .where("device", "=", device)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  /** One step of tidying up; says how many went. */
  async forgetOld(limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_pairings")
      .where("code", "in", (eb) =>
        eb
          .selectFrom("tendon_pairings")
          .select("code")
          .where("expires_at", "<=", this.#clock.now())
          .orderBy("expires_at")
          .limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  #live() {
    return this.#db.selectFrom("tendon_pairings").selectAll().where("expires_at", ">", this.#clock.now());
  }

  async #pending(tx: Database, source?: string): Promise<number> {
    const row = await tx
      .selectFrom("tendon_pairings")
      .select((eb) => eb.fn.countAll().as("count"))
      .where("expires_at", ">", this.#clock.now())
      .$if(source !== undefined, (query) => query.where("source", "=", source ?? ""))
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }
}

function read(row: Selectable<PairingsTable>): Pairing {
  return {
    device: row.device,
    clientIdHash: row.client_id_hash,
    code: row.code,
    challenge: row.challenge,
    details: fromJson<unknown>(row.details),
    attempts: row.attempts,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    provenAt: optional(row.proven_at),
  };
}
