import type { JsonObject, ToolDefinition } from "@tendon/protocol";
import type { Principal, Ruling } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import type { DeviceRecord } from "../fleet/fleet.ts";
import { type Deadline, withDeadline } from "../with-deadline.ts";
import {
  type Approvals,
  type Confirm,
  defaultReason,
  type Grant,
  type ShortWay,
  schemaDigest,
} from "./approvals.ts";
import type { CallTurn } from "./call-turn.ts";

interface AskedCall {
  readonly principal: Principal;
  readonly record: DeviceRecord;
  readonly tool: string;
  readonly definition: ToolDefinition | undefined;
  readonly args: JsonObject;
}

/** A person's word for one call; without it the call fails here, with what it waits for. */
export async function requireApproval(
  { clock, approvals }: { readonly clock: Clock; readonly approvals: Approvals },
  ruling: Ruling,
  { principal, record, tool, definition, args }: AskedCall,
  turn: CallTurn,
): Promise<Grant> {
  const { granted, confirm } = turn.given;
  if (granted !== undefined) return granted;
  const reason = ruling.confirm?.reason;
  const request = { device: record.id, tool, arguments: args, reason: reason ?? defaultReason };
  return await approvals.grant(
    {
      principal,
      device: record.id,
      targets: undefined,
      tool,
      arguments: args,
      schemaDigest: schemaDigest(definition),
      reason,
    },
    shortWay([ruling], confirm, () => ({ clock, request, patience: turn.options() })),
  );
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
