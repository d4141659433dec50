/**
 * Calls that may take several rounds: the gateway asks the person in front of the agent for approval, or the device
 * asks for input, and the client repeats the call with the answer.
 */
import {
  type CallToolResult,
  type InputRequiredResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
} from "@modelcontextprotocol/server";
import { isObject } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";
import type { TendonError } from "../../errors.ts";
import { asTendonError, failedResult, lastStatus, repliedResult } from "./call-result.ts";
import {
  type Confirmation,
  ConfirmationRequired,
  canBeShown,
  FanOutConfirmationRequired,
  formFor,
} from "./confirmation.ts";
import { inRounds } from "./open-calls.ts";
import { startPhoto } from "./photo-task.ts";
import { hasForms } from "./questions.ts";
import { clientOf, originOf } from "./relay.ts";
import { Rounds } from "./rounds.ts";
import { queuedWork } from "./task-ids.ts";
import type { CallDevice, CallMany, McpRequest, ToolRequest } from "./tool-request.ts";

type Confirm = NonNullable<CallOptions["confirm"]>;

export function callsInRounds(request: McpRequest): Pick<ToolRequest, "call" | "callMany"> {
  return { call: callOne(request), callMany: callMany(request) };
}

/** Replaced by a task. */
const started: CallToolResult = { content: [] };

function callOne(request: McpRequest): CallDevice {
  const { view, inBackground } = request;
  const { services, principal } = view;
  return async ({ device, tool }, args, timing) => {
    const rounds = roundsOf(request, `${device} ${tool}`, args);
    try {
      if (await startPhoto(request, { device, tool }, args, timing)) return started;
      const confirm = confirmIn(request, rounds, (asked) => new ConfirmationRequired(asked));
      const origin = await originOf(request);
      // `undefined` for boards, which do not ask questions.
      const program = services.fleet.passthrough.of(principal, device);
      const round = await inRounds(request, rounds, program, (given) =>
        services.calls.callOrQueue(principal, device, tool, args, {
          ...given,
          ...timing,
          maxTimeoutMs: view.voice?.maxTimeoutMs,
          confirm,
          origin,
        }),
      );
      if ("asks" in round) return round.asks;
      const reply = round.end;
      if ("expiresAt" in reply) inBackground?.(queuedWork(view.clock.now(), reply));
      const asks = "result" in reply ? reply.result.inputRequired : undefined;
      return asks === undefined ? repliedResult(reply, view) : rounds.deviceAsks(asks);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const known = asTendonError(error);
      if (known.cause instanceof ConfirmationRequired) return ask(request, rounds, known.cause.confirmation);
      throwIfIncapable(known);
      if (known.code === "internal") view.reportFault(known.cause);
      return failedResult(known, lastStatus(view, device, known), view.selection);
    }
  };
}

function callMany(request: McpRequest): CallMany {
  const { services, principal, voice } = request.view;
  return async (target, tool, args, timing) => {
    const rounds = roundsOf(request, `many ${JSON.stringify(target)} ${tool}`, args);
    const confirm = confirmIn(request, rounds, (asked) => new FanOutConfirmationRequired(asked));
    const options = {
      ...timing,
      maxTimeoutMs: voice?.maxTimeoutMs,
      signal: request.context.mcpReq.signal,
      confirm,
      origin: await originOf(request),
    };
    try {
      const durable = request.inBackground !== undefined;
      return { reply: await services.fanOut.call(principal, target, { tool, args, options, durable }) };
    } catch (error) {
      if (error instanceof FanOutConfirmationRequired)
        return { asks: ask(request, rounds, error.confirmation) };
      throw error;
    }
  };
}

function roundsOf({ view, context }: McpRequest, target: string, args: Record<string, unknown>): Rounds {
  return new Rounds(view.states, { principal: view.principal.id, target, args }, context);
}

/** The decision of the person in front of the agent, if this round brings one; otherwise the question for the next round. */
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

/** MCP has an error of its own for a capability that the client lacks, so the call does not return a result. */
function throwIfIncapable({ cause }: TendonError): void {
  if (!isObject(cause) || cause["code"] !== missingCapability || !isObject(cause["data"])) return;
  const { requiredCapabilities } = cause["data"];
  if (isObject(requiredCapabilities)) {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
  }
}
