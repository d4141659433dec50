import type { Asking, CallDevice, CallMany } from "./asking.ts";
import { asTendonError, failedResult, finishedResult, lastStatus } from "./call-result.ts";
import { givenUp } from "./given-up.ts";

type Plain = Pick<Asking, "view" | "context">;

/** Calls that are over with their answer, for agents that do not speak MCP. */
export function plainCalls(asking: Plain): Pick<Asking, "call" | "callMany"> {
  return { call: callOne(asking), callMany: callMany(asking) };
}

function callOne({ view, context }: Plain): CallDevice {
  const { services, principal } = view;
  return async ({ device, tool }, args, timeoutMs) => {
    const options = { timeoutMs, signal: givenUp(context) };
    try {
      return finishedResult(await services.calls.call(principal, device, tool, args, options));
    } catch (error) {
      const known = asTendonError(error);
      return failedResult(known, lastStatus(view, device, known));
    }
  };
}

function callMany({ view: { services, principal }, context }: Plain): CallMany {
  return async (target, tool, args, timeoutMs) => {
    const options = { timeoutMs, signal: givenUp(context) };
    return { reply: await services.fanOut.call(principal, target, { tool, args, options }) };
  };
}
