import { type QueuedReply, upgradeTool } from "@tendon/protocol";
import { TendonError } from "../errors.ts";
import { asReported, isToolError, textOf } from "./call-end.ts";
import type { FinishedCalls } from "./finished-calls.ts";
import type { CallInProgress, FinishedReply, Pipeline } from "./pipeline.ts";
import { principalName } from "./principal-name.ts";

/** Runs the steps, dispatches the call and records its outcome, also if a step throws. */
export async function runCall<Result>(
  { steps, dispatch }: Pipeline<Result>,
  call: CallInProgress,
  finished: Pick<FinishedCalls, "add">,
): Promise<FinishedReply<Result> | QueuedReply> {
  const { record, tool, args, context } = call;
  let outcome: string | undefined = "internal";
  let queuedMs = 0;
  let durationMs: number | undefined;
  let detail: string | undefined;
  let unsent = false;
  let answer: unknown;
  let problems: unknown;
  try {
    for (const step of steps) {
      const passed = step(call);
      if (passed !== undefined) await passed;
    }
    context.allowed();
    const sent = await dispatch(call);
    if ("queued" in sent) {
      outcome = undefined;
      return sent.queued;
    }
    const { result, queuedMs: queued } = sent;
    answer = result;
    queuedMs = rounded(queued);
    durationMs = rounded(context.elapsedMs);
    outcome = isToolError(result) ? "tool_error" : "ok";
    if (tool === upgradeTool) detail = textOf(result);
    return { callId: context.callId, device: record.id, tool, result, queuedMs, durationMs };
  } catch (error) {
    const known =
      error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
    outcome = known.code;
    detail = known.message;
    unsent = known.context["sent"] === false;
    problems = known.context["errors"];
    throw asReported(known, context.callId, record.catalogue.find(tool));
  } finally {
    // The history must have the same duration as the reply.
    durationMs ??= rounded(context.elapsedMs);
    // A queued call is recorded when it has ended.
    if (outcome !== undefined)
      finished.add({
        context,
        args,
        device: record.id,
        tool,
        principal: principalName(call),
        outcome,
        queuedMs,
        durationMs,
        detail,
        unsent,
        answer,
        problems,
      });
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
