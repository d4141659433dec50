import type { CallAsker } from "@tendon/protocol";
import { TendonError } from "../errors.ts";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { type Bound, fromJson, optional, toJson } from "./codec.ts";
import type { CallsTable } from "./tables.ts";

/** One row of the history. */
export interface CallRecord {
  readonly id: string;
  /** When it ended. */
  readonly at: number;
  readonly device: string;
  readonly tool: string;
  readonly principal: string;
  /** `ok`, `tool_error`, or an error's code. */
  readonly outcome: string;
  readonly queuedMs: number;
  readonly durationMs: number;
  readonly argumentDigest: string;
  /** Stored only if the configuration asks for it. */
  readonly arguments: unknown;
  /** The approval that it used. */
  readonly approval: string | undefined;
  /** The node that ran it. */
  readonly node: string | undefined;
  /** The number of its `call.finished` event in that node's stream. The event is not stored separately. */
  readonly event: number | undefined;
  /** What a voice agent says about the board that it talks with. */
  readonly asker: CallAsker | undefined;
}

/** The position of a row in the history. */
export interface CallKey {
  readonly at: number;
  readonly seq: number;
}

export interface CallFilter {
  readonly device?: string | undefined;
  readonly tool?: string | undefined;
  readonly principal?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: number | undefined;
  /** `false` leaves out calls whose principal begins with `console:`. */
  readonly automatic?: boolean | undefined;
}

/** The result of one bounded read of the history. */
export interface Step {
  readonly rows: readonly (Omit<CallsTable, "seq" | "earlier"> & CallKey)[];
  /** The last row that was read; `undefined` if it was the oldest of all. */
  readonly end: CallKey | undefined;
}

/** Tolerance for a clock that was set back between two calls, or during one. */
export const clockSlackMs = 60_000;

/** A placeholder row with every column of a call, from which statements are compiled. */
export const callColumns: Omit<CallsTable, "seq" | "earlier"> = {
  at: 0,
  id: "",
  device: "",
  tool: "",
  principal: "",
  outcome: "",
  queued_ms: 0,
  duration_ms: 0,
  argument_digest: "",
  arguments: null,
  approval: null,
  node: null,
  event: null,
  asker: null,
};

/** A call's values, in the order of the columns above. */
export function bindCall(call: CallRecord, into: Bound[]): void {
  into.push(
    call.at,
    call.id,
    call.device,
    call.tool,
    call.principal,
    call.outcome,
    Math.round(call.queuedMs),
    Math.round(call.durationMs),
    call.argumentDigest,
    typeof call.arguments === "string" ? call.arguments : null,
    call.approval ?? null,
    call.node ?? null,
    call.event ?? null,
    call.asker === undefined ? null : toJson(call.asker),
  );
}

/** The insert for PostgreSQL. It ignores duplicates, because a broken connection may have written the rows. */
export function callInsert(): BulkStatement<CallRecord> {
  return new BulkStatement<CallRecord>({
    write: (db, rows) =>
      db
        .insertInto("tendon_calls")
        .values(repeated(rows, callColumns))
        .onConflict((conflict) => conflict.columns(["at", "id"]).doNothing())
        .compile(),
    bind: bindCall,
  });
}

export function readCall(row: Omit<CallsTable, "seq" | "earlier">): CallRecord {
  return {
    id: row.id,
    at: row.at,
    device: row.device,
    tool: row.tool,
    principal: row.principal,
    outcome: row.outcome,
    queuedMs: row.queued_ms,
    durationMs: row.duration_ms,
    argumentDigest: row.argument_digest,
    arguments: row.arguments === null ? undefined : fromJson<unknown>(row.arguments),
    approval: optional(row.approval),
    node: optional(row.node),
    event: optional(row.event),
    asker: row.asker === null ? undefined : fromJson<CallAsker>(row.asker),
  };
}

export function writeCursor({ at, seq }: CallKey): string {
  return `${at.toString(36)}.${seq.toString(36)}`;
}

export function readCursor(cursor: string): CallKey {
  const [, at = "", seq = ""] = /^([0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(cursor) ?? [];
  if (seq === "")
    throw new TendonError("bad_request", "`cursor` is not valid. Use the `nextCursor` of an earlier page.");
  return { at: Number.parseInt(at, 36), seq: Number.parseInt(seq, 36) };
}
