import { fromJson, optional } from "./codec.ts";
import type { ApprovalsTable } from "./tables.ts";

export type ApprovalState = "waiting" | "approved" | "denied" | "consumed" | "expired";

/** The call that a grant is bound to. */
export interface GuardedCall {
  readonly principal: string;
  readonly device: string;
  readonly tool: string;
  readonly argumentDigest: string;
  /** Set for a fan-out: the digest of its target devices. */
  readonly targetsDigest: string | undefined;
  /** Digest of the tool's schema at the time of the request. A changed schema voids the grant. */
  readonly schemaDigest: string;
}

export interface ApprovalRequest {
  readonly call: GuardedCall;
  /** Shown to the person who decides. */
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

/** Reports `expired` from `expires_at` on, even if the row still has its earlier state. */
export function readApproval(row: ApprovalsTable, now: number): Approval {
  const expired = row.expires_at <= now && (row.state === "waiting" || row.state === "approved");
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
    state: expired ? "expired" : (row.state as ApprovalState),
    askedAt: row.asked_at,
    expiresAt: row.expires_at,
    decidedAt: optional(row.decided_at),
    decidedBy: optional(row.decided_by),
    consumedAt: optional(row.consumed_at),
  };
}
