import type { Asking, CallDevice } from "./asking.ts";
import { asTendonError, failedResult, finishedResult, lastStatus } from "./call-result.ts";
import { givenUp } from "./given-up.ts";

/** Calls that are over with their answer, for agents that do not speak MCP. */
export function plainCalls({ view, context }: Omit<Asking, "call">): CallDevice {
  const { registry, principal } = view;
  return async ({ device, tool }, args, timeoutMs) => {
    const options = { timeoutMs, signal: givenUp(context) };
    try {
      return finishedResult(await registry.calls.call(principal, device, tool, args, options));
    } catch (error) {
      const known = asTendonError(error);
      return failedResult(known, lastStatus(view, device, known));
    }
  };
}
