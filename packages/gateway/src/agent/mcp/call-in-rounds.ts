/**
 * Calls that may take several rounds: the person in front of the agent is asked, or the device itself wants to know
 * more, and the client comes back with the answer.
 */
import {
  type InputRequiredResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
} from "@modelcontextprotocol/server";
import { isObject } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";
import type { TendonError } from "../../errors.ts";
import type { Asking, CallDevice, CallMany, McpRequest } from "./asking.ts";
import { asTendonError, failedResult, finishedResult, lastStatus } from "./call-result.ts";
import { AskPerson, AskPersonForMany, type Confirmation, canBeShown, formFor } from "./confirmation.ts";
import { givenUp } from "./given-up.ts";
import { inRounds } from "./open-calls.ts";
import { hasForms } from "./questions.ts";
import { clientOf } from "./relay.ts";
import { Rounds } from "./rounds.ts";

type Confirm = NonNullable<CallOptions["confirm"]>;

export function callsInRounds(request: McpRequest): Pick<Asking, "call" | "callMany"> {
  return { call: callOne(request), callMany: callMany(request) };
}

function callOne(request: McpRequest): CallDevice {
  const { view } = request;
  const { services, principal } = view;
  return async ({ device, tool }, args, timeoutMs) => {
    const rounds = roundsOf(request, `${device} ${tool}`, args);
    try {
      const confirm = confirmIn(request, rounds, (asked) => new AskPerson(asked));
      // Boards have none, and know nothing of rounds.
      const program = services.fleet.passthrough.of(principal, device);
      const round = await inRounds(request, rounds, program, (given) =>
        services.calls.call(principal, device, tool, args, { ...given, timeoutMs, confirm }),
      );
      if ("asks" in round) return round.asks;
      const done = round.end;
      const { inputRequired } = done.result;
      return inputRequired === undefined ? finishedResult(done) : rounds.deviceAsks(inputRequired);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const known = asTendonError(error);
      if (known.cause instanceof AskPerson) return ask(request, rounds, known.cause.confirmation);
      throwIfIncapable(known);
      if (known.code === "internal") view.reportFault(known.cause);
      return failedResult(known, lastStatus(view, device, known));
    }
  };
}

function callMany(request: McpRequest): CallMany {
  const { services, principal } = request.view;
  return async (target, tool, args, timeoutMs) => {
    const rounds = roundsOf(request, `many ${JSON.stringify(target)} ${tool}`, args);
    const confirm = confirmIn(request, rounds, (asked) => new AskPersonForMany(asked));
    const options = { timeoutMs, signal: givenUp(request.context), confirm };
    try {
      return { reply: await services.fanOut.call(principal, target, { tool, args, options }) };
    } catch (error) {
      if (error instanceof AskPersonForMany) return { asks: ask(request, rounds, error.confirmation) };
      throw error;
    }
  };
}

function roundsOf({ view, context }: McpRequest, target: string, args: Record<string, unknown>): Rounds {
  return new Rounds(view.states, { principal: view.principal.id, target, args }, context);
}

/** The word of the person in front of the agent: what this round brings, or the question for the next. */
function confirmIn(
  request: McpRequest,
  rounds: Rounds,
  leave: (confirmation: Confirmation) => Error,
): Confirm {
  return async (asked) => {
    const decided = await rounds.decision(asked.binding);
    if (decided !== undefined) return decided;
    if (!hasForms(clientOf(request)) || !canBeShown(asked)) return "unavailable";
    throw leave(asked);
  };
}

function ask({ view }: McpRequest, rounds: Rounds, asked: Confirmation): InputRequiredResult {
  const { services, principal } = view;
  const known = services.fleet.visible(principal, asked.device);
  const device = known ? services.fleet.device(principal, asked.device).alias : asked.device;
  return rounds.askPerson(formFor(principal.name, device, asked), asked.binding);
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
