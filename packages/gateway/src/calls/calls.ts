/**
 * The one pipeline of a call, whatever interface it came through [CALL-1…8]: findDevice, requireScope, awaitListing,
 * authorize, requireApproval, checkArguments, useApproval, dispatch, record. Approvals, fan-out, `device_control`,
 * idempotency and the history are in this module too.
 */

import { type JsonObject, type ToolResult, upgradeTool } from "@tendon/protocol";
import { type Policy, type Principal, type Ruling, requireScope } from "../access/access.ts";
import type { Cancellation } from "../cancellation.ts";
import type { Relay } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import { type DeviceRecord, refuseArguments, untilListed } from "../fleet/fleet.ts";
import { type Approvals, type Confirm, type Grant, schemaDigest } from "./approvals.ts";
import { awaitListing } from "./await-listing.ts";
import { requireApproval, useApproval } from "./call-approval.ts";
import { asReported, isToolError, textOf } from "./call-end.ts";
import { CallTraces } from "./call-traces.ts";
import { CallTurn } from "./call-turn.ts";
import { FinishedCalls, type FinishedCallsSettings } from "./finished-calls.ts";
import { InFlight } from "./in-flight.ts";
import type { CallInProgress, FinishedReply, Pipeline, Step } from "./pipeline.ts";

export { Approvals } from "./approvals.ts";
export { Control } from "./control.ts";
export { ControlSteps } from "./control-steps.ts";
export { Dispatch, type DispatchDependencies } from "./dispatch.ts";
export { FanOut } from "./fan-out.ts";
export { History } from "./history.ts";
export { Idempotency } from "./idempotency.ts";
export { MuteMemory } from "./mute-memory.ts";
export { type Photo, PhotoAccess, type PhotoShelf } from "./photo-access.ts";
export type { FinishedReply } from "./pipeline.ts";

export interface CallsDependencies extends Omit<FinishedCallsSettings, "traces"> {
  readonly node: string;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly defaultTimeoutMs: number;
  /** How many calls may wait for one device. */
  readonly queueLimit: number;
  /** Throws `device_unknown`. */
  readonly findDevice: (principal: Principal, reference: string) => DeviceRecord;
}

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: Cancellation | undefined;
  /** Fields that travel beside the call in its envelope; devices ignore them, logs of existing apps do not. */
  readonly envelope?: JsonObject | undefined;
  /** [CTL-5] The tool may be missing from the device's list: it counts as user-only then, and the device decides. */
  readonly unlisted?: boolean | undefined;
  /** The queue of a voice server's calls; see Requests. */
  readonly lane?: "voice" | undefined;
  /** Where a picture taken by this call goes, where that is not here. */
  readonly vision?: JsonObject | undefined;
  /**
   * [APR-7] Asks the person in front of the caller where a rule wants a person's word and does not insist on the
   * queue. Never asked for a user-only tool that the caller's scopes keep shut: its own yes would open it.
   */
  readonly confirm?: Confirm | undefined;
  /** Where another node has begun the call under this id already. */
  readonly callId?: string | undefined;
  /** A person's word for this call and others with it [APR-5]. */
  readonly granted?: Grant | undefined;
  /** Why this call and others with it wait for a person. */
  readonly held?: TendonError | undefined;
  /** For callers that speak MCP themselves, where the device does too [PRC-9]. */
  readonly relay?: Relay | undefined;
}

export class Calls {
  readonly traces = new CallTraces();
  readonly inFlight = new InFlight();
  readonly #dependencies: CallsDependencies;
  readonly #finished: FinishedCalls;
  readonly #toolCall: Pipeline<ToolResult>;
  readonly #rawRequest: Pipeline<unknown>;

  constructor(dependencies: CallsDependencies) {
    this.#dependencies = dependencies;
    const { clock, events, policy, queueLimit } = dependencies;
    this.#finished = new FinishedCalls({ ...dependencies, traces: this.traces });
    events.subscribe((event) => this.traces.hear(event));
    const [needsApproval, usesApproval] = [requireApproval(dependencies), useApproval(queueLimit)];
    this.#toolCall = {
      steps: [
        requireScopeFor("call"),
        awaitListing(clock),
        authorizeTool(policy),
        needsApproval,
        checkArguments,
        usesApproval,
      ],
      dispatch: ({ record, tool, args, turn }) => record.requireHandle().call(tool, args, turn),
    };
    this.#rawRequest = {
      steps: [
        requireScopeFor("admin"),
        authorizeRequest(policy),
        needsApproval,
        checkRuleArguments,
        usesApproval,
      ],
      dispatch: ({ record, tool: method, params, turn }) => {
        const options = { ...turn.options(), call: { callId: turn.callId, tool: method } };
        return record.requireHandle().request(method, params, options);
      },
    };
  }

  call(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<FinishedReply<ToolResult>> {
    return this.#run(this.#toolCall, principal, device, tool, args, options);
  }

  /** Any other method, as it is, for administrators who know what their firmware answers to. */
  request(
    principal: Principal,
    device: string,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<FinishedReply<unknown>> {
    return this.#run(this.#rawRequest, principal, device, method, params, options);
  }

  /** What a call would meet before its arguments are checked, without making it. */
  async foresee(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
  ): Promise<{ readonly ruling: Ruling | undefined; readonly schema: string }> {
    const { clock, policy, findDevice } = this.#dependencies;
    const record = findDevice(principal, device);
    if (record.awaitListing !== undefined) await untilListed(clock, record);
    const definition = record.catalogue.find(tool);
    const ruling = policy.judge(principal, record, tool, definition, args, false);
    return { ruling, schema: schemaDigest(definition) };
  }

  /** Refuses new calls from now on; resolves when the last running one has ended and its event has been sent. */
  async drain(): Promise<void> {
    await this.inFlight.drain();
    this.#dependencies.events.settle();
  }

  async #run<Result>(
    pipeline: Pipeline<Result>,
    principal: Principal,
    device: string,
    tool: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<FinishedReply<Result>> {
    this.inFlight.enter();
    try {
      const record = this.#dependencies.findDevice(principal, device);
      const args = params ?? {};
      const turn = new CallTurn(this.#dependencies, tool, args, options);
      const found = { definition: undefined, ruling: undefined, grant: undefined };
      const call = { principal, record, tool, args, params, turn, ...found };
      return await runCall(pipeline, call, this.#finished);
    } finally {
      this.inFlight.leave();
    }
  }
}

function requireScopeFor(scope: "call" | "admin"): Step {
  return ({ principal }) => {
    requireScope(principal, scope);
    return undefined;
  };
}

function authorizeTool(policy: Policy): Step {
  return (call) => {
    const { principal, record, tool, args, turn } = call;
    call.definition = record.catalogue.find(tool);
    const unlisted = turn.given.unlisted === true;
    call.ruling = policy.judge(principal, record, tool, call.definition, args, unlisted);
    return undefined;
  };
}

/** Rules see a raw request as a call of the tool of that name. */
function authorizeRequest(policy: Policy): Step {
  return (call) => {
    const { principal, record, tool: method, args } = call;
    call.ruling = policy.judge(principal, record, method, undefined, args, true);
    return undefined;
  };
}

const checkArguments: Step = (call) => {
  const { record, tool, args, turn } = call;
  record.catalogue.checkArguments(tool, args, turn.argumentText, record.kind);
  return checkRuleArguments(call);
};

const checkRuleArguments: Step = ({ ruling }) => {
  if (ruling !== undefined) refuseArguments(ruling.malformed);
  return undefined;
};

/** Takes a call through the steps to its device, and records how it ended, whatever happens. */
async function runCall<Result>(
  { steps, dispatch }: Pipeline<Result>,
  call: CallInProgress,
  finished: FinishedCalls,
): Promise<FinishedReply<Result>> {
  const { principal, record, tool, args, turn } = call;
  let outcome = "internal";
  let queuedMs = 0;
  let durationMs: number | undefined;
  let detail: string | undefined;
  let unsent = false;
  try {
    for (const step of steps) {
      const passed = step(call);
      if (passed !== undefined) await passed;
    }
    const { result, queuedMs: queued } = await dispatch(call);
    queuedMs = rounded(queued);
    durationMs = rounded(turn.elapsedMs);
    outcome = isToolError(result) ? "tool_error" : "ok";
    if (tool === upgradeTool) detail = textOf(result);
    return { callId: turn.callId, device: record.id, tool, result, queuedMs, durationMs };
  } catch (error) {
    const known =
      error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
    outcome = known.code;
    detail = known.message;
    unsent = known.context["sent"] === false;
    throw asReported(known, turn.callId, record.catalogue.find(tool));
  } finally {
    // The history has the duration that the caller was given.
    durationMs ??= rounded(turn.elapsedMs);
    finished.add({
      turn,
      args,
      device: record.id,
      tool,
      principal: principal.name,
      outcome,
      queuedMs,
      durationMs,
      detail,
      unsent,
    });
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
