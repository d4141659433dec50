/** How the pipeline puts a call into the queue, and the checks that are new when a queued call runs. */
import type { ArgumentProblem, QueuedReply, ToolResult } from "@tendon/protocol";
import type { Policy } from "../access/access.ts";
import { TendonError } from "../errors.ts";
import type { ControlAction, Sent } from "../fleet/fleet.ts";
import type { StoredQueuedCall } from "../store/store.ts";
import { schemaDigest } from "./approvals.ts";
import type { CallQueue } from "./call-queue.ts";
import type { CallOptions } from "./calls.ts";
import type { Finished } from "./finished-calls.ts";
import { keptAnswer } from "./kept-answer.ts";
import type { CallInProgress, Pipeline, Queued, Step } from "./pipeline.ts";
import { principalName } from "./principal-name.ts";
import type { QueuedRun } from "./queue-runner.ts";
import { detailsOf, readDetails } from "./queued-call-details.ts";

type Queue = Pick<CallQueue, "add">;

/** Errors of an attempt that sent nothing and says nothing about the call itself. */
const passing: ReadonlySet<string> = new Set([
  "device_offline",
  "device_disconnected",
  "device_timeout",
  "queue_full",
  "node_unreachable",
  "shutting_down",
  "storage_unavailable",
  "busy",
  "rate_limited",
]);

/** A dispatch to the device, or to the queue if the device is away. */
export function orQueue(
  queue: Queue,
  dispatch: (call: CallInProgress) => Promise<Sent<ToolResult> | Queued>,
): Pipeline<ToolResult>["dispatch"] {
  return async (call) => {
    if (call.record.handle === undefined) return await enqueue(queue, call, undefined);
    try {
      return await dispatch(call);
    } catch (error) {
      // It left since `findDevice`, and nothing was sent.
      if (error instanceof TendonError && error.code === "device_offline")
        return await enqueue(queue, call, undefined);
      throw error;
    }
  };
}

/** `action`: a device_control action that is composed of several calls. */
export async function enqueue(
  queue: Queue,
  call: CallInProgress,
  action: ControlAction | undefined,
): Promise<Queued> {
  const { principal, record, tool, args, definition, context } = call;
  const { requested, approval, callId: id } = context;
  const { timeoutMs, envelope, origin, unlisted, queue: asked = {} } = requested;
  const queued: QueuedReply = await queue.add(
    {
      id,
      device: record.id,
      tool,
      principal: principal.id,
      principalName: principalName(call),
      supersedeKey: asked.supersedeKey,
      job: asked.job,
      details: detailsOf({
        arguments: args,
        schema: action === undefined ? schemaDigest(definition) : undefined,
        approval,
        timeoutMs,
        envelope,
        origin,
        unlisted,
        agent: !principal.scopes.has("admin"),
        action,
        reply: asked.reply,
      }),
    },
    asked.expiresInMs,
  );
  return { queued };
}

/** The tools of a composed action. Their arguments are known only when it runs, so none of them may need approval. */
export function authorizeParts(policy: Policy, { tool, compose }: ControlAction): Step {
  return ({ principal, record }) => {
    const { adjust, mute, unmute } = compose ?? {};
    const level = adjust ?? mute;
    const tools = [level?.read.tool, (level ?? unmute)?.write.tool].filter((name) => name !== undefined);
    for (const name of tools) {
      const ruling = policy.judge(principal, record, name, record.catalogue.find(name), {}, false);
      if (ruling?.confirm === undefined) continue;
      const detail = `\`${tool}\` cannot be queued: it consists of several calls, and a rule requires approval for \`${name}\`. Call \`${name}\` instead`;
      throw new TendonError("forbidden", detail);
    }
    return undefined;
  };
}

/** [QUE-2] The tool must be the same as when the call was asked. */
export function requireSameTool(schema: string | undefined): Step {
  return ({ definition, tool }) => {
    if (schema === schemaDigest(definition)) return undefined;
    throw new TendonError("conflict", `\`${tool}\` has changed since the call was queued`);
  };
}

/** The options of a queued call when it runs. An approval was consumed when it was queued. */
export function queuedOptions(call: StoredQueuedCall): CallOptions {
  const { approval, timeoutMs, envelope, origin, unlisted } = readDetails(call.details);
  return {
    callId: call.id,
    timeoutMs,
    envelope,
    origin,
    unlisted,
    lane: "queued",
    grant: {
      async use() {
        if (approval !== undefined) return approval;
        const detail = "a rule now requires approval, which the call did not need when it was queued";
        throw new TendonError("approval_required", detail);
      },
    },
  };
}

export function queuedRun(taken: boolean, finished: Finished | undefined, error: unknown): QueuedRun {
  if (finished === undefined) {
    const known = error instanceof TendonError ? error : new TendonError("internal", "the call failed");
    const { code, message } = known;
    return { outcome: code, details: { detail: message }, taken, mayWait: passing.has(code) };
  }
  const { outcome, detail, unsent, queuedMs, durationMs, answer, problems, context } = finished;
  const details = {
    detail,
    ...(outcome === "ok" || outcome === "tool_error" ? {} : { sent: taken && !unsent }),
    queuedMs,
    durationMs,
    allowedMs: context.allowedMs,
    sentMs: context.sentMs,
    answer: answer === undefined ? undefined : keptAnswer(answer).result,
    // Safe: only `refuseArguments` sets it.
    problems: problems as readonly ArgumentProblem[] | undefined,
  };
  // A call that was not sent also has `sent: false`, or fails before `take`.
  const notSent = !taken || unsent || outcome === "device_offline" || outcome === "queue_full";
  return { outcome, details, taken, mayWait: passing.has(outcome) && notSent };
}
