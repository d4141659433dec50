/**
 * The approval of a fan-out [APR-5]: one request for all devices, bound to exactly these targets. If one device needs
 * it, all of them wait for it. Otherwise repeating the call after the approval would reach some devices twice.
 */
import { hash } from "node:crypto";
import { type FleetTarget, limits } from "@tendon/protocol";
import type { Policy, Principal, Ruling } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { type Approvals, defaultReason, type Grant } from "./approvals.ts";
import { elicitationFor } from "./call-approval.ts";
import type { CallOptions, Calls } from "./calls.ts";
import type { FanOutCall } from "./fan-out.ts";

export interface FanOutApprovalDependencies {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly defaultTimeoutMs: number;
}

/** The approval that the calls share, or the error that all of them fail with. Empty if none of them needs approval. */
type SharedApproval = Pick<CallOptions, "grant" | "approvalError">;

const shownTargets = limits.fanOutAtOnce.max;

export async function requireApprovalForAll(
  dependencies: FanOutApprovalDependencies,
  principal: Principal,
  target: FleetTarget,
  devices: readonly string[],
  call: FanOutCall,
): Promise<SharedApproval> {
  const { tool, args } = call;
  if (!dependencies.policy.mayConfirm(tool)) return {};
  const rulings: Ruling[] = [];
  const schemas: string[] = [];
  for (const device of devices) {
    const access = await previewAccess(dependencies.calls, principal, device, call);
    if (access === undefined) continue;
    schemas.push(`${device} ${access.schema}`);
    if (access.ruling?.confirm !== undefined) rulings.push(access.ruling);
  }
  if (rulings.length === 0) return {};
  const reason = rulings.find(({ confirm }) => confirm?.reason !== undefined)?.confirm?.reason;
  const shown = devices.length > shownTargets ? { count: devices.length, ...target } : { devices };
  try {
    const grant = await dependencies.approvals.grant(
      {
        principal,
        device: undefined,
        targets: { digest: digestOf(devices), shown },
        tool,
        arguments: args,
        schemaDigest: digestOf(schemas),
        reason,
      },
      elicitationFor(rulings, call.options.confirm, () => {
        const { timeoutMs = dependencies.defaultTimeoutMs, maxTimeoutMs = timeoutMs, signal } = call.options;
        const device = `${devices.length} devices`;
        const request = { device, tool, arguments: args, reason: reason ?? defaultReason };
        return {
          clock: dependencies.clock,
          request,
          deadline: { timeoutMs: Math.min(timeoutMs, maxTimeoutMs), signal },
        };
      }),
    );
    return { grant: usedOnce(grant) };
  } catch (error) {
    // A job is not started without its approval, so the request itself fails.
    if (!(error instanceof TendonError) || devices.length > limits.fanOutAtOnce.max) throw error;
    return { approvalError: error };
  }
}

/** `undefined` if the call to this device would fail: it fails with the same error when it is made. */
async function previewAccess(calls: Calls, principal: Principal, device: string, { tool, args }: FanOutCall) {
  try {
    return await calls.previewAccess(principal, device, tool, args);
  } catch (error) {
    if (error instanceof TendonError) return undefined;
    throw error;
  }
}

/** The first call that reaches `useApproval` consumes the approval for all of them. */
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
