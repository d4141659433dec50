import { fromJson, optional } from "./codec.ts";
import type { ApprovalsTable } from "./tables.ts";

export type ApprovalState = "waiting" | "approved" | "denied" | "consumed" | "expired";

/** What a grant is for, and for nothing else. */
export interface GuardedCall {
  readonly principal: string;
  readonly device: string;
  readonly tool: string;
  readonly argumentDigest: string;
  /** Of a call to many devices: which. */
  readonly targetsDigest: string | undefined;
  /** Of the tool's schema when it was asked: a grant is void once that changes. */
  readonly schemaDigest: string;
}

export interface ApprovalRequest {
  readonly call: GuardedCall;
  /** What the person who decides is shown. */
  readonly details: unknown;
  readonly expiresAt: number;
}

export interface Approval extends ApprovalRequest {
  readonly id: string;
  readonly state: ApprovalState;
  readonly askedAt: number;
  readonly decidedAt: number | undefined;
  readonly decidedBy: string | undefined;
  readonly consumedAt: number | undefined;
}

/** A request or grant whose time is over has run out, whether or not that has been written down. */
export function readApproval(row: ApprovalsTable, now: number): Approval {
  const overdue = row.expires_at <= now && (row.state === "waiting" || row.state === "approved");
  return {
    id: row.id,
    call: {
      principal: row.principal,
      device: row.device,
      tool: row.tool,
      argumentDigest: row.argument_digest,
      targetsDigest: row.targets_digest === "" ? undefined : row.targets_digest,
      schemaDigest: row.schema_digest,
    },
    details: row.arguments === null ? undefined : fromJson<unknown>(row.arguments),
    // Safe: only approvals.ts fills this column.
    state: overdue ? "expired" : (row.state as ApprovalState),
    askedAt: row.asked_at,
    expiresAt: row.expires_at,
    decidedAt: optional(row.decided_at),
    decidedBy: optional(row.decided_by),
    consumedAt: optional(row.consumed_at),
  };
}
