import { createHash } from "node:crypto";
import { newCallId } from "../call-ids.ts";
import type { Clock } from "../clock.ts";
import { type Approval, type ApprovalRequest, type GuardedCall, readApproval } from "./approval-row.ts";
import { identifier, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";

/** More than a person could look through, and too few to fill a disk with. */
const waitingPerPrincipal = 100;
const listed = 500;
const attempts = 3;
const keptMs = 24 * 60 * 60_000;

/** Calls that wait for a person, and the grants that came of it. Each step is one statement that only one can win. */
export class Approvals {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Asks, or finds the equal request that waits already; `undefined` when this principal has too many waiting. */
  async request(request: ApprovalRequest): Promise<Approval | undefined> {
    const now = this.#clock.now();
    const waiting_for = digestOf(request.call);
    return await atomically(this.#db, async (tx) => {
      await tx
        .updateTable("tendon_approvals")
        .set({ state: "expired", waiting_for: null })
        .where("waiting_for", "=", waiting_for)
        .where("expires_at", "<=", now)
        .execute();
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const known = await tx
          .selectFrom("tendon_approvals")
          .selectAll()
          .where("waiting_for", "=", waiting_for)
          .executeTakeFirst();
        if (known !== undefined) return readApproval(known);
        if ((await this.#waitingCount(tx, request.call.principal)) >= waitingPerPrincipal) return undefined;
        const made = await tx
          .insertInto("tendon_approvals")
          .values({
            ...columnsOf(request.call),
            id: newCallId(),
            arguments: request.arguments === undefined ? null : toJson(request.arguments),
            state: "waiting",
            waiting_for,
            asked_at: now,
            expires_at: request.expiresAt,
          })
          .onConflict((conflict) => conflict.column("waiting_for").doNothing())
          .returningAll()
          .executeTakeFirst();
        if (made !== undefined) return readApproval(made);
      }
      return undefined;
    });
  }

  async get(id: string): Promise<Approval | undefined> {
    const row = await this.#db
      .selectFrom("tendon_approvals")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : readApproval(row);
  }

  /** Oldest first: they end first. */
  async waiting(): Promise<Approval[]> {
    const rows = await this.#db
      .selectFrom("tendon_approvals")
      .selectAll()
      .where("waiting_for", "is not", null)
      .where("expires_at", ">", this.#clock.now())
      .orderBy("asked_at")
      .orderBy("id")
      .limit(listed)
      .execute();
    return rows.map(readApproval);
  }

  /** Once, while it waits, and never by whoever asked; `undefined` when one of these does not hold. */
  async decide(
    id: string,
    decision: { readonly approve: boolean; readonly by: string; readonly expiresAt: number },
  ): Promise<Approval | undefined> {
    const now = this.#clock.now();
    const row = await this.#db
      .updateTable("tendon_approvals")
      .set({
        state: decision.approve ? "approved" : "denied",
        waiting_for: null,
        decided_at: now,
        decided_by: decision.by,
        expires_at: decision.expiresAt,
      })
      .where("id", "=", id)
      .where("state", "=", "waiting")
      .where("expires_at", ">", now)
      .where("principal", "<>", decision.by)
      .returningAll()
      .executeTakeFirst();
    return row === undefined ? undefined : readApproval(row);
  }

  /** Uses up a grant for exactly this call; of several callers one gets it. */
  async consume(call: GuardedCall): Promise<Approval | undefined> {
    const now = this.#clock.now();
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const grant = await this.#granted(call, now);
      if (grant === undefined) return undefined;
      const row = await this.#db
        .updateTable("tendon_approvals")
        .set({ state: "consumed", consumed_at: now })
        .where("id", "=", grant)
        .where("state", "=", "approved")
        .where("expires_at", ">", now)
        .returningAll()
        .executeTakeFirst();
      if (row !== undefined) return readApproval(row);
    }
    return undefined;
  }

  /** One step of tidying up; says how many went. */
  async forgetOld(limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_approvals")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("tendon_approvals")
          .select("id")
          .where("expires_at", "<", this.#clock.now() - keptMs)
          .orderBy("expires_at")
          .limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  async #granted(call: GuardedCall, now: number): Promise<string | undefined> {
    let select = this.#db.selectFrom("tendon_approvals").select("id");
    for (const [column, value] of Object.entries(columnsOf(call)))
      select = select.where(column as keyof ReturnType<typeof columnsOf>, "=", value);
    const row = await select
      .where("state", "=", "approved")
      .where("expires_at", ">", now)
      .orderBy("expires_at")
      .limit(1)
      .executeTakeFirst();
    return row?.id;
  }

  async #waitingCount(tx: Database, principal: string): Promise<number> {
    const row = await tx
      .selectFrom("tendon_approvals")
      .select((eb) => eb.fn.countAll().as("count"))
      .where("principal", "=", principal)
      .where("waiting_for", "is not", null)
      .where("expires_at", ">", this.#clock.now())
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }
}

function columnsOf(call: GuardedCall) {
  return {
    principal: identifier(call.principal, "the principal"),
    device: identifier(call.device, "the device's id"),
    tool: identifier(call.tool, "the tool's name"),
    argument_digest: call.argumentDigest,
    targets_digest: call.targetsDigest ?? "",
    schema_digest: call.schemaDigest,
  };
}

function digestOf(call: GuardedCall): string {
  return createHash("sha256")
    .update(toJson(Object.values(columnsOf(call))))
    .digest("hex");
}
