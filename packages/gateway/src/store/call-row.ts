import { TendonError } from "../errors.ts";
import { BulkInsert, repeated } from "./bulk-insert.ts";
import { type Bound, fromJson, optional } from "./codec.ts";
import type { CallsTable } from "./tables.ts";

/** One line of the history. */
export interface CallRecord {
  readonly id: string;
  /** When it ended, however it ended. */
  readonly at: number;
  readonly device: string;
  readonly tool: string;
  readonly principal: string;
  /** `ok`, `tool_error`, or an error's code. */
  readonly outcome: string;
  readonly queuedMs: number;
  readonly durationMs: number;
  readonly argumentDigest: string;
  /** The arguments themselves, only where the settings ask for them. */
  readonly arguments: unknown;
  /** The approval that let it through. */
  readonly approval: string | undefined;
  /** The gateway that carried it out. */
  readonly node: string | undefined;
  /** The number of its event there: that event is not kept a second time. */
  readonly event: number | undefined;
}

/** Where a row stands in the history. */
export interface CallKey {
  readonly at: number;
  readonly seq: number;
}

/** Which calls are asked for. */
export interface CallFilter {
  readonly device?: string | undefined;
  readonly tool?: string | undefined;
  readonly principal?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: number | undefined;
}

/** What one bounded look into the history gave. */
export interface Step {
  readonly rows: readonly (Omit<CallsTable, "seq" | "earlier"> & CallKey)[];
  /** The last that was looked at; none where that was the oldest of all. */
  readonly end: CallKey | undefined;
}

/** By so much the clock may have been set back between two calls, or since one was asked for. */
export const clockSlackMs = 60_000;

/** For writing statements: a row with every column that a call is written to. */
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
  );
}

/** How PostgreSQL takes calls in. A connection that broke may have written them all the same. */
export function callInsert(): BulkInsert<CallRecord> {
  return new BulkInsert<CallRecord>({
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
  };
}

export function writeCursor({ at, seq }: CallKey): string {
  return `${at.toString(36)}.${seq.toString(36)}`;
}

export function readCursor(cursor: string): CallKey {
  const [, at = "", seq = ""] = /^([0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(cursor) ?? [];
  if (seq === "") throw new TendonError("bad_request", "`cursor` is not one that was given out");
  return { at: Number.parseInt(at, 36), seq: Number.parseInt(seq, 36) };
}
