import { MissingRequiredClientCapabilityError } from "@modelcontextprotocol/server";
import { isObject } from "@tendon/protocol";
import type { TendonError } from "../../errors.ts";
import type { CallDevice, McpRequest } from "./asking.ts";
import { asTendonError, failedResult, finishedResult, lastStatus } from "./call-result.ts";
import { givenUp } from "./given-up.ts";
import { relayTo } from "./relay.ts";
import { Rounds } from "./rounds.ts";

/** Calls that may take several rounds: the client is asked for something and comes back with it. */
export function callsInRounds(request: McpRequest): CallDevice {
  const { view, context } = request;
  const { registry, principal } = view;
  return async ({ device, tool }, args, timeoutMs) => {
    const binding = { principal: principal.id, target: `${device} ${tool}`, args };
    const rounds = new Rounds(view.states, binding, context);
    try {
      const done = await registry.calls.call(principal, device, tool, args, {
        timeoutMs,
        signal: givenUp(context),
        relay: relayTo(request, rounds),
      });
      const { inputRequired } = done.result;
      return inputRequired === undefined ? finishedResult(done) : rounds.deviceAsks(inputRequired);
    } catch (error) {
      const known = asTendonError(error);
      throwIfIncapable(known);
      return failedResult(known, lastStatus(view, device, known));
    }
  };
}

const missingCapability = -32021;

/** What the client lacks is not the call's failure: the protocol has a word of its own for it. */
function throwIfIncapable({ cause }: TendonError): void {
  if (!isObject(cause) || cause["code"] !== missingCapability || !isObject(cause["data"])) return;
  const { requiredCapabilities } = cause["data"];
  if (isObject(requiredCapabilities)) {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
  }
}
