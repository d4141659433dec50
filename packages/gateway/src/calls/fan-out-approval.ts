/**
 * A person's word for a call to many devices [APR-5]: one request for all of them, bound to exactly these targets.
 * Where one of them needs it, all of them wait for it: a call that is repeated after the yes must not reach some
 * devices a second time.
 */
import { hash } from "node:crypto";
import { type FleetTarget, limits } from "@tendon/protocol";
import type { Policy, Principal, Ruling } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { type Approvals, defaultReason, type Grant } from "./approvals.ts";
import { shortWay } from "./call-approval.ts";
import type { CallOptions, Calls } from "./calls.ts";
import type { FanOutCall } from "./fan-out.ts";

export interface FanOutApprovalNeeds {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly defaultTimeoutMs: number;
}

/** What each of the calls is to go by: nothing, the grant they share, or the refusal that holds all of them. */
type Word = Pick<CallOptions, "granted" | "held">;

const shownTargets = limits.fanOutAtOnce.max;

export async function requireApprovalForAll(
  needs: FanOutApprovalNeeds,
  principal: Principal,
  target: FleetTarget,
  devices: readonly string[],
  call: FanOutCall,
): Promise<Word> {
  const { tool, args } = call;
  if (!needs.policy.mayConfirm(tool)) return {};
  const rulings: Ruling[] = [];
  const schemas: string[] = [];
  for (const device of devices) {
    const foreseen = await foresee(needs.calls, principal, device, call);
    if (foreseen === undefined) continue;
    schemas.push(`${device} ${foreseen.schema}`);
    if (foreseen.ruling?.confirm !== undefined) rulings.push(foreseen.ruling);
  }
  if (rulings.length === 0) return {};
  const reason = rulings.find(({ confirm }) => confirm?.reason !== undefined)?.confirm?.reason;
  const shown = devices.length > shownTargets ? { count: devices.length, ...target } : { devices };
  try {
    const grant = await needs.approvals.grant(
      {
        principal,
        device: undefined,
        targets: { digest: digestOf(devices), shown },
        tool,
        arguments: args,
        schemaDigest: digestOf(schemas),
        reason,
      },
      shortWay(rulings, call.options.confirm, () => {
        const { timeoutMs = needs.defaultTimeoutMs, signal } = call.options;
        const device = `${devices.length} devices`;
        const request = { device, tool, arguments: args, reason: reason ?? defaultReason };
        return { clock: needs.clock, request, patience: { timeoutMs, signal } };
      }),
    );
    return { granted: usedOnce(grant) };
  } catch (error) {
    // Of what becomes a job there are no results to tell it in.
    if (!(error instanceof TendonError) || devices.length > limits.fanOutAtOnce.max) throw error;
    return { held: error };
  }
}

/** What a device would say to the call; `undefined` where it fails in any case, and says so when it is made. */
async function foresee(calls: Calls, principal: Principal, device: string, { tool, args }: FanOutCall) {
  try {
    return await calls.foresee(principal, device, tool, args);
  } catch (error) {
    if (error instanceof TendonError) return undefined;
    throw error;
  }
}

/** The first call that gets as far as its device uses the grant up, for all of them. */
function usedOnce(grant: Grant): Grant {
  let used: Promise<string> | undefined;
  return {
    use() {
      used ??= grant.use();
      return used;
    },
  };
}

function digestOf(texts: readonly string[]): string {
  return hash("sha256", JSON.stringify([...texts].sort()));
}
