import { createHash } from "node:crypto";
import { limits } from "@tendon/protocol";
import { newCallId } from "../call-ids.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import {
  type Approval,
  type ApprovalRequest,
  type ApprovalState,
  type GuardedCall,
  readApproval,
} from "./approval-row.ts";
import { identifier, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";

/** Small, because each row may contain the arguments of a call. */
const pageRows = 100;
const attempts = 3;
const keptMs = 24 * 60 * 60_000;

interface ApprovalKey {
  readonly at: number;
  readonly id: string;
}

export interface ApprovalQuery {
  readonly state?: ApprovalState | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** Whether the reader may see it. */
  readonly accept: (approval: Approval) => boolean;
}

/** Calls that wait for approval, and the decisions. Each step is one statement, so only one of several callers wins. */
export class Approvals {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Creates a request or returns the equal one that is pending. `undefined` if the principal has too many pending. */
  async request(
    request: ApprovalRequest,
  ): Promise<{ readonly approval: Approval; readonly isNew: boolean } | undefined> {
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
        if (known !== undefined) return { approval: readApproval(known, now), isNew: false };
        if ((await this.#waitingCount(tx, request.call.principal)) >= limits.approvalsWaiting.max)
          return undefined;
        const made = await tx
          .insertInto("tendon_approvals")
          .values({
            ...columnsOf(request.call),
            id: newCallId(),
            arguments: request.details === undefined ? null : toJson(request.details),
            state: "waiting",
            waiting_for,
            asked_at: now,
            expires_at: request.expiresAt,
          })
          .onConflict((conflict) => conflict.column("waiting_for").doNothing())
          .returningAll()
          .executeTakeFirst();
        if (made !== undefined) return { approval: readApproval(made, now), isNew: true };
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
    return row === undefined ? undefined : readApproval(row, this.#clock.now());
  }

  /** Newest first. Reads rows until the page is full of approvals that the reader may see. */
  async list(
    query: ApprovalQuery,
  ): Promise<{ readonly approvals: Approval[]; readonly nextCursor?: string }> {
    const { state, cursor, limit, accept } = query;
    const approvals: Approval[] = [];
    const now = this.#clock.now();
    for (let before = cursor === undefined ? undefined : readCursor(cursor); ; ) {
      const rows = await this.#page(state, before, now);
      for (const row of rows) {
        const approval = readApproval(row, now);
        if (!accept(approval)) continue;
        if (approvals.length === limit) return { approvals, nextCursor: cursorOf(approvals.at(-1)) };
        approvals.push(approval);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageRows) return { approvals };
      before = { at: last.asked_at, id: last.id };
    }
  }

  /** The unexpired decision for exactly this call. A grant has precedence over a denial. */
  async currentDecision(call: GuardedCall): Promise<Approval | undefined> {
    const now = this.#clock.now();
    const row = await this.#matching(call)
      .selectAll()
      .where("state", "in", ["approved", "denied"])
      .where("expires_at", ">", now)
      .orderBy("state")
      .limit(1)
      .executeTakeFirst();
    return row === undefined ? undefined : readApproval(row, now);
  }

  /** Decides a pending request. `undefined` if it is not pending, has expired, or `by` is the principal that asked. */
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
    return row === undefined ? undefined : readApproval(row, now);
  }

  /** Consumes a grant for exactly this call. Of several concurrent callers, one gets it. */
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
      if (row !== undefined) return readApproval(row, now);
    }
    return undefined;
  }

  /** One step of retention. Returns the number of deleted rows. */
  async pruneOld(limit: number): Promise<number> {
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

  async removeOf(device: string): Promise<void> {
    await this.#db.deleteFrom("tendon_approvals").where("device", "=", device).execute();
  }

  async #granted(call: GuardedCall, now: number): Promise<string | undefined> {
    const row = await this.#matching(call)
      .select("id")
      .where("state", "=", "approved")
      .where("expires_at", ">", now)
      .orderBy("expires_at")
      .limit(1)
      .executeTakeFirst();
    return row?.id;
  }

  #matching(call: GuardedCall) {
    let select = this.#db.selectFrom("tendon_approvals");
    for (const [column, value] of Object.entries(columnsOf(call)))
      select = select.where(column as keyof ReturnType<typeof columnsOf>, "=", value);
    return select;
  }

  async #page(state: ApprovalState | undefined, before: ApprovalKey | undefined, now: number) {
    let select = this.#db
      .selectFrom("tendon_approvals")
      .selectAll()
      .orderBy("asked_at", "desc")
      .orderBy("id", "desc")
      .limit(pageRows);
    if (before !== undefined)
      select = select.where((eb) => eb(eb.refTuple("asked_at", "id"), "<", eb.tuple(before.at, before.id)));
    if (state === "expired") {
      select = select.where((eb) =>
        eb.or([
          eb("state", "=", "expired"),
          eb.and([eb("state", "in", ["waiting", "approved"]), eb("expires_at", "<=", now)]),
        ]),
      );
    } else if (state !== undefined) {
      select = select.where("state", "=", state);
      if (state === "waiting" || state === "approved") select = select.where("expires_at", ">", now);
    }
    return await select.execute();
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

function cursorOf(last: Approval | undefined): string {
  return last === undefined ? "" : `${last.askedAt.toString(36)}.${last.id}`;
}

function readCursor(cursor: string): ApprovalKey {
  const [, at = "", id = ""] = /^([0-9a-z]{1,11})\.(.{1,128})$/.exec(cursor) ?? [];
  if (id === "")
    throw new TendonError("bad_request", "`cursor` is not valid. Use the `nextCursor` of an earlier page.");
  return { at: Number.parseInt(at, 36), id };
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
