import { limits } from "@tendon/protocol";
import type { Selectable } from "kysely";
import type { Clock } from "../clock.ts";
import { fromJson, identifier, optional, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";
import type { PairingsTable } from "./tables.ts";

/** A board that shows an activation code and waits for approval. */
export interface Pairing {
  readonly device: string;
  readonly clientIdHash: string;
  readonly code: string;
  readonly challenge: string;
  /** What the board reported about itself, for the person who decides. */
  readonly details: unknown;
  readonly attempts: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When it proved that it has the key of its serial number. */
  readonly provenAt: number | undefined;
}

export interface PairingRequest {
  readonly device: string;
  readonly clientIdHash: string;
  readonly challenge: string;
  readonly details: unknown;
  readonly expiresAt: number;
  /** The address of the board. The number of codes per source is limited. */
  readonly source: string;
  /** Called again if another pair has the code. */
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

  /** The pair's code, new or existing; `undefined` if too many boards are pending. */
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
        // No conflict target: another node may have taken either the pair or the code.
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

  /** Every pending board with this id. Boards that share an id each have their own code. */
  async ofDevice(device: string): Promise<Pairing[]> {
    const rows = await this.#live().where("device", "=", device).orderBy("code").limit(listed).execute();
    return rows.map(read);
  }

  /** The number of pending boards. */
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

  /** Consumes the code. Of several concurrent callers, one gets it. */
  async take(code: string): Promise<Pairing | undefined> {
    const row = await this.#db
      .deleteFrom("tendon_pairings")
      .where("code", "=", code)
      .where("expires_at", ">", this.#clock.now())
      .returningAll()
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Records a failed proof. Returns the number of failures. */
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

  /** Removes every code of the device, for any Client-Id. Returns whether there was one. */
  async remove(device: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_pairings")
      .where("device", "=", device)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  /** One step of retention. Returns the number of deleted rows. */
  async pruneOld(limit: number): Promise<number> {
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
