import { TendonError } from "../errors.ts";
import { fromJson, optional } from "./codec.ts";
import type { Database } from "./engine.ts";
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
  readonly node: string | undefined;
}

/** Where a row stands in the history. */
export interface CallKey {
  readonly at: number;
  readonly id: string;
}

export async function insertCalls(db: Database, rows: readonly CallRecord[]): Promise<void> {
  await db
    .insertInto("tendon_calls")
    .values(
      rows.map((call) => ({
        at: call.at,
        id: call.id,
        device: call.device,
        tool: call.tool,
        principal: call.principal,
        outcome: call.outcome,
        queued_ms: Math.round(call.queuedMs),
        duration_ms: Math.round(call.durationMs),
        argument_digest: call.argumentDigest,
        arguments: typeof call.arguments === "string" ? call.arguments : null,
        approval: call.approval ?? null,
        node: call.node ?? null,
      })),
    )
    .onConflict((conflict) => conflict.columns(["at", "id"]).doNothing())
    .execute();
}

export function readCall(row: Omit<CallsTable, "seq">): CallRecord {
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
  };
}

export function writeCursor({ at, id }: CallKey): string {
  return `${at.toString(36)}.${id}`;
}

export function readCursor(cursor: string): CallKey {
  const [, at = "", id = ""] = /^([0-9a-z]{1,11})\.(.{1,128})$/.exec(cursor) ?? [];
  if (id === "") throw new TendonError("bad_request", "`cursor` is not one that was given out");
  return { at: Number.parseInt(at, 36), id };
}
