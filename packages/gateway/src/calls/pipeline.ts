/**
 * The steps of a call, in the contract's order of errors. Each step lets the call pass or throws a TendonError with its
 * own code. A new capability is a new step or a new target of `dispatch`, not a branch inside a step.
 */
import { type JsonObject, type ToolDefinition, upgradeTool } from "@tendon/protocol";
import type { Principal, Ruling } from "../access/access.ts";
import { TendonError } from "../errors.ts";
import type { DeviceRecord, Sent } from "../fleet/fleet.ts";
import type { Grant } from "./approvals.ts";
import { asReported, isToolError, textOf } from "./call-end.ts";
import type { CallTurn } from "./call-turn.ts";
import type { FinishedCalls } from "./finished-calls.ts";

export interface CallInProgress {
  readonly principal: Principal;
  readonly record: DeviceRecord;
  /** The tool, or the method of a raw request. */
  readonly tool: string;
  readonly args: JsonObject;
  /** The same as they were given: a raw request may have none. */
  readonly params: JsonObject | undefined;
  readonly turn: CallTurn;
  /** What `authorize` found. */
  definition: ToolDefinition | undefined;
  ruling: Ruling | undefined;
  /** What `requireApproval` found, to be used up when the call is sent. */
  grant: Grant | undefined;
}

/** A step that waits for nothing returns nothing: most calls pass every step in one turn of the event loop. */
export type Step = (call: CallInProgress) => Promise<void> | undefined;

export interface Pipeline<Result> {
  readonly steps: readonly Step[];
  readonly dispatch: (call: CallInProgress) => Promise<Sent<Result>>;
}

export interface FinishedReply<Result> {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly result: Result;
  readonly queuedMs: number;
  readonly durationMs: number;
}

/** Takes a call through the steps to its device, and records how it ended, whatever happens. */
export async function runCall<Result>(
  { steps, dispatch }: Pipeline<Result>,
  call: CallInProgress,
  finished: FinishedCalls,
): Promise<FinishedReply<Result>> {
  const { principal, record, tool, args, turn } = call;
  let outcome = "internal";
  let queuedMs = 0;
  let durationMs: number | undefined;
  let detail: string | undefined;
  let unsent = false;
  try {
    for (const step of steps) {
      const passed = step(call);
      if (passed !== undefined) await passed;
    }
    const { result, queuedMs: queued } = await dispatch(call);
    queuedMs = rounded(queued);
    durationMs = rounded(turn.elapsedMs);
    outcome = isToolError(result) ? "tool_error" : "ok";
    if (tool === upgradeTool) detail = textOf(result);
    return { callId: turn.callId, device: record.id, tool, result, queuedMs, durationMs };
  } catch (error) {
    const known =
      error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
    outcome = known.code;
    detail = known.message;
    unsent = known.context["sent"] === false;
    throw asReported(known, turn.callId, record.catalogue.find(tool));
  } finally {
    // The history has the duration that the caller was given.
    durationMs ??= rounded(turn.elapsedMs);
    finished.add({
      turn,
      args,
      device: record.id,
      tool,
      principal: principal.name,
      outcome,
      queuedMs,
      durationMs,
      detail,
      unsent,
    });
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
