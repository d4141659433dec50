import type { Ruling } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { type Deadline, withDeadline } from "../with-deadline.ts";
import {
  type Approvals,
  type Confirm,
  defaultReason,
  type Grant,
  type ShortWay,
  schemaDigest,
} from "./approvals.ts";
import type { CallInProgress, Step } from "./pipeline.ts";

interface ApprovalDependencies {
  readonly clock: Clock;
  readonly approvals: Approvals;
}

/** Gets a person's approval where a rule asks for it; without it the call fails, and the error says what it waits for. */
export function requireApproval(dependencies: ApprovalDependencies): Step {
  return (call) => {
    const { ruling, turn } = call;
    const { held, granted } = turn.given;
    if (held !== undefined) throw held;
    if (ruling?.confirm === undefined) return undefined;
    if (granted === undefined) return askForApproval(dependencies, call, ruling);
    call.grant = granted;
    return undefined;
  };
}

async function askForApproval(
  { clock, approvals }: ApprovalDependencies,
  call: CallInProgress,
  ruling: Ruling,
): Promise<void> {
  const { principal, record, tool, definition, args, turn } = call;
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
    shortWay([ruling], turn.given.confirm, () => ({ clock, request, patience: turn.options() })),
  );
}

/** An approval is good for one call: it is used last of all, and not for a device that could not take the call. */
export function useApproval(queueLimit: number): Step {
  return (call) => (call.grant === undefined ? undefined : useGrant(call, call.grant, queueLimit));
}

async function useGrant({ record, turn }: CallInProgress, grant: Grant, queueLimit: number): Promise<void> {
  const { queuedCalls } = await record.requireHandle().inspect(turn.given.signal);
  if (queuedCalls >= queueLimit)
    throw new TendonError("queue_full", `${queuedCalls} calls are already waiting for this device`);
  turn.approval = await grant.use();
}

/**
 * [APR-7] The person in front of the caller, where that is enough: not where a rule insists on the queue, and not
 * where the call needs more than the caller may give itself.
 */
export function shortWay(
  rulings: readonly Ruling[],
  confirm: Confirm | undefined,
  asking: () => {
    readonly clock: Clock;
    readonly request: Omit<Parameters<Confirm>[0], "binding">;
    readonly patience: Deadline;
  },
): ShortWay | undefined {
  if (confirm === undefined) return undefined;
  if (rulings.some(({ elevated, confirm: verdict }) => elevated || verdict?.queueOnly === true))
    return undefined;
  return async (binding) => {
    const { clock, request, patience } = asking();
    const answer = await withDeadline(clock, confirm({ ...request, binding }), patience);
    return answer === "timeout" ? "unavailable" : answer;
  };
}
