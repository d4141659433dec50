import type { Ruling } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { type Deadline, withDeadline } from "../with-deadline.ts";
import {
  type Approvals,
  type Confirm,
  defaultReason,
  type Elicitation,
  type Grant,
  schemaDigest,
} from "./approvals.ts";
import type { CallQueue } from "./call-queue.ts";
import type { CallInProgress, Step } from "./pipeline.ts";

interface ApprovalDependencies {
  readonly clock: Clock;
  readonly approvals: Approvals;
}

/** Requires an approval if a rule asks for it. Without one the call fails with `approval_required`. */
export function requireApproval(dependencies: ApprovalDependencies): Step {
  return (call) => {
    const { ruling, context } = call;
    const { approvalError, grant } = context.requested;
    if (approvalError !== undefined) throw approvalError;
    if (ruling?.confirm === undefined) return undefined;
    if (grant === undefined) return askForApproval(dependencies, call, ruling);
    call.grant = grant;
    return undefined;
  };
}

async function askForApproval(
  { clock, approvals }: ApprovalDependencies,
  call: CallInProgress,
  ruling: Ruling,
): Promise<void> {
  const { principal, record, tool, definition, args, context } = call;
  const reason = ruling.confirm?.reason;
  const request = { device: record.id, tool, arguments: args, reason: reason ?? defaultReason };
  call.grant = await approvals.grant(
    {
      principal,
      device: record.id,
      targets: undefined,
      tool,
      arguments: args,
      schemaDigest: schemaDigest(definition),
      reason,
    },
    elicitationFor([ruling], context.requested.confirm, () => ({
      clock,
      request,
      deadline: context.options(),
    })),
  );
}

/** Consumes the approval. This is the last step, so that a call that fails earlier does not consume it. */
export function useApproval(queueLimit: number, queue: Pick<CallQueue, "requireRoom">): Step {
  return (call) => (call.grant === undefined ? undefined : useGrant(call, call.grant, queueLimit, queue));
}

async function useGrant(
  { principal, record, context }: CallInProgress,
  grant: Grant,
  queueLimit: number,
  queue: Pick<CallQueue, "requireRoom">,
): Promise<void> {
  const { handle } = record;
  if (handle === undefined && context.requested.queue !== undefined) {
    await queue.requireRoom(principal.id, record.id);
  } else {
    const { queuedCalls } = await record.requireHandle().inspect(context.requested.signal);
    if (queuedCalls >= queueLimit)
      throw new TendonError("queue_full", `${queuedCalls} calls are already waiting for this device`);
  }
  context.approval = await grant.use();
}

/**
 * [APR-7] Returns how to ask the user of the calling client. Returns `undefined` if a rule requires the approval queue,
 * or if the call needs a scope that the caller lacks.
 */
export function elicitationFor(
  rulings: readonly Ruling[],
  confirm: Confirm | undefined,
  prepare: () => {
    readonly clock: Clock;
    readonly request: Omit<Parameters<Confirm>[0], "binding">;
    readonly deadline: Deadline;
  },
): Elicitation | undefined {
  if (confirm === undefined) return undefined;
  if (rulings.some(({ elevated, confirm: verdict }) => elevated || verdict?.queueOnly === true))
    return undefined;
  return async (binding) => {
    const { clock, request, deadline } = prepare();
    const answer = await withDeadline(clock, confirm({ ...request, binding }), deadline);
    return answer === "timeout" ? "unavailable" : answer;
  };
}
