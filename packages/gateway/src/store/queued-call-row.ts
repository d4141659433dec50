import type { JsonObject } from "@tendon/protocol";
import type { Selectable } from "kysely";
import { fromJson, optional } from "./codec.ts";
import type { QueuedCallsTable } from "./tables.ts";

/** What is needed to run the call later. The caller defines its content. */
export interface NewQueuedCall {
  readonly id: string;
  readonly device: string;
  readonly tool: string;
  /** The id and the name of the token. */
  readonly principal: string;
  readonly principalName: string;
  readonly details: JsonObject;
  readonly supersedeKey: string | undefined;
  readonly job: string | undefined;
  readonly queuedAt: number;
  readonly expiresAt: number;
}

export interface StoredQueuedCall extends NewQueuedCall {
  readonly seq: number;
  readonly state: "queued" | "running" | "ended" | "finished";
  /** The run of the gateway that took or ended it. */
  readonly run: string | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly outcome: string | undefined;
  /** How it ended, as the caller defines it. */
  readonly ending: JsonObject | undefined;
}

export interface QueuedCallEnd {
  readonly seq: number;
  /** The state that it ends from. */
  readonly from: "queued" | "running";
  readonly run: string;
  readonly finishedAt: number;
  readonly outcome: string;
  readonly ending: JsonObject;
}

export interface QueueBounds {
  readonly device: number;
  readonly principal: number;
}

/** What became of a new call. `superseded`: the older calls that it replaced. */
export type Added =
  | { readonly added: true; readonly superseded: readonly StoredQueuedCall[] }
  | { readonly added: false; readonly full: keyof QueueBounds };

export interface QueuedCallQuery {
  readonly device?: string | undefined;
  readonly tool?: string | undefined;
  /** The token's name. */
  readonly principal?: string | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

export function readQueuedCall(row: Selectable<QueuedCallsTable>): StoredQueuedCall {
  return {
    seq: Number(row.seq),
    id: row.id,
    device: row.device,
    tool: row.tool,
    principal: row.principal,
    principalName: row.principal_name,
    details: fromJson<JsonObject>(row.details),
    supersedeKey: optional(row.supersede_key),
    job: optional(row.job),
    // Safe: only this file fills this column.
    state: row.state as StoredQueuedCall["state"],
    run: optional(row.run),
    queuedAt: row.queued_at,
    expiresAt: row.expires_at,
    startedAt: optional(row.started_at),
    finishedAt: optional(row.finished_at),
    outcome: optional(row.outcome),
    ending: row.ending === null ? undefined : fromJson<JsonObject>(row.ending),
  };
}

/** A placeholder row with the columns of a new call, from which statements are compiled. */
export const newCallColumns = {
  id: "",
  device: "",
  tool: "",
  principal: "",
  principal_name: "",
  details: "",
  supersede_key: null,
  job: null,
  state: "",
  queued_at: 0,
  expires_at: 0,
};
