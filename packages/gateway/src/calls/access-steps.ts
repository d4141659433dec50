/** The steps of the pipeline that check the caller's access and the arguments. */
import { type Policy, requireScope } from "../access/access.ts";
import { refuseArguments } from "../fleet/fleet.ts";
import type { Step } from "./pipeline.ts";

export function requireScopeFor(scope: "call" | "admin"): Step {
  return ({ principal }) => {
    requireScope(principal, scope);
    return undefined;
  };
}

export function authorizeTool(policy: Policy): Step {
  return (call) => {
    const { principal, record, tool, args, context } = call;
    call.definition = record.catalogue.find(tool);
    const unlisted = context.requested.unlisted === true;
    call.ruling = policy.judge(principal, record, tool, call.definition, args, unlisted);
    return undefined;
  };
}

/** Access rules treat a raw request as a call of a tool named like its method. */
export function authorizeRequest(policy: Policy): Step {
  return (call) => {
    const { principal, record, tool: method, args } = call;
    call.ruling = policy.judge(principal, record, method, undefined, args, true);
    return undefined;
  };
}

export const checkArguments: Step = (call) => {
  const { record, tool, args, context } = call;
  record.catalogue.checkArguments(tool, args, context.argumentText, record.kind);
  return checkRuleArguments(call);
};

export const checkRuleArguments: Step = ({ ruling }) => {
  if (ruling !== undefined) refuseArguments(ruling.malformed);
  return undefined;
};
