import { asTendonError, failedResult, lastStatus, repliedResult } from "./call-result.ts";
import type { CallDevice, CallMany, ToolRequest } from "./tool-request.ts";

type Plain = Pick<ToolRequest, "view" | "context">;

/** Calls in a single round, for agents that do not use MCP. */
export function plainCalls(request: Plain): Pick<ToolRequest, "call" | "callMany"> {
  return { call: callOne(request), callMany: callMany(request) };
}

function callOne({ view, context }: Plain): CallDevice {
  const { services, principal } = view;
  return async ({ device, tool }, args, timing) => {
    const options = { ...timing, signal: context.mcpReq.signal };
    try {
      const reply = await services.calls.callOrQueue(principal, device, tool, args, options);
      return repliedResult(reply, view);
    } catch (error) {
      const known = asTendonError(error);
      return failedResult(known, lastStatus(view, device, known));
    }
  };
}

function callMany({ view: { services, principal }, context }: Plain): CallMany {
  return async (target, tool, args, timing) => {
    const options = { ...timing, signal: context.mcpReq.signal };
    return { reply: await services.fanOut.call(principal, target, { tool, args, options }) };
  };
}
