/**
 * The pipeline of a call, the same for every interface [CALL-1…8]: findDevice, requireScope, awaitListing, authorize,
 * requireApproval, checkArguments, useApproval, dispatch, record. This module also contains approvals, fan-out,
 * `device_control`, idempotency and the history.
 */

import {
  type CallCheck,
  type CallOrigin,
  type JsonObject,
  type ToolResult,
  upgradeTool,
} from "@tendon/protocol";
import { type Policy, type Principal, type Ruling, requireScope } from "../access/access.ts";
import type { Cancellation } from "../cancellation.ts";
import type { Relay } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import { type DeviceRecord, refuseArguments, untilListed } from "../fleet/fleet.ts";
import { type Approvals, type Confirm, type Grant, schemaDigest } from "./approvals.ts";
import { awaitListing } from "./await-listing.ts";
import { requireApproval, useApproval } from "./call-approval.ts";
import { CallContext } from "./call-context.ts";
import { asReported, isToolError, textOf } from "./call-end.ts";
import { CallTraces } from "./call-traces.ts";
import { FinishedCalls, type FinishedCallsSettings } from "./finished-calls.ts";
import { InFlight } from "./in-flight.ts";
import type { CallInProgress, FinishedReply, Pipeline, Step } from "./pipeline.ts";
import { principalName } from "./principal-name.ts";
import { RunningCalls } from "./running-calls.ts";

export { Approvals } from "./approvals.ts";
export type { RecentCall } from "./call-traces.ts";
export { Control } from "./control.ts";
export { ControlSteps } from "./control-steps.ts";
export { Erasure } from "./erasure.ts";
export { FanOut } from "./fan-out.ts";
export { History } from "./history.ts";
export { Idempotency } from "./idempotency.ts";
export { MutedLevels } from "./muted-levels.ts";
export { type Photo, PhotoAccess, type PhotoStorage } from "./photo-access.ts";
export type { FinishedReply } from "./pipeline.ts";
export type { RunningCall } from "./running-calls.ts";
export { BoardTools } from "./special-tools.ts";

export interface CallsDependencies extends Omit<FinishedCallsSettings, "traces"> {
  readonly node: string;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly defaultTimeoutMs: number;
  /** How many calls may wait for one device. */
  readonly queueLimit: number;
  /** Throws `device_unknown`. */
  readonly findDevice: (principal: Principal, reference: string) => DeviceRecord;
  /** Whether the device has uploaded the picture of this running call. */
  readonly hasPicture: (callId: string) => boolean;
}

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: Cancellation | undefined;
  /** Extra fields of the call's envelope. Devices ignore them; existing apps have them in their logs. */
  readonly envelope?: JsonObject | undefined;
  /** [CTL-5] The tool may be missing from the device's list. It counts as user-only then. */
  readonly unlisted?: boolean | undefined;
  /** The queue of a voice server's calls; see Requests. */
  readonly lane?: "voice" | undefined;
  /** The `vision` capability of another server, if the photo of this call goes there. */
  readonly vision?: JsonObject | undefined;
  /**
   * [APR-7] Asks the user of the calling client for approval, unless a rule requires the approval queue. Not used for
   * a user-only tool without the scope `call:user`, because the caller could then approve its own call.
   */
  readonly confirm?: Confirm | undefined;
  /** Set if another node has already started the call under this id. */
  readonly callId?: string | undefined;
  /** An approval that this call shares with the other calls of a fan-out [APR-5]. */
  readonly grant?: Grant | undefined;
  /** Why all calls of a fan-out fail: their shared approval is missing. */
  readonly approvalError?: TendonError | undefined;
  /** Set if both the caller and the device use MCP [PRC-9]. */
  readonly relay?: Relay | undefined;
  readonly origin?: CallOrigin | undefined;
}

export class Calls {
  readonly traces = new CallTraces();
  readonly inFlight = new InFlight();
  readonly running: RunningCalls;
  readonly #dependencies: CallsDependencies;
  readonly #finished: FinishedCalls;
  readonly #toolCall: Pipeline<ToolResult>;
  readonly #rawRequest: Pipeline<unknown>;
  readonly #notification: Pipeline<undefined>;

  constructor(dependencies: CallsDependencies) {
    this.#dependencies = dependencies;
    const { clock, events, policy, queueLimit } = dependencies;
    this.running = new RunningCalls(dependencies.hasPicture);
    this.#finished = new FinishedCalls({ ...dependencies, traces: this.traces });
    events.subscribe((event) => this.traces.apply(event));
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
      dispatch: ({ record, tool, args, context }) => record.requireHandle().call(tool, args, context),
    };
    const rawSteps = [
      requireScopeFor("admin"),
      authorizeRequest(policy),
      needsApproval,
      checkRuleArguments,
      usesApproval,
    ];
    this.#rawRequest = {
      steps: rawSteps,
      dispatch: ({ record, tool: method, params, context }) => {
        const options = { ...context.options(), call: { callId: context.callId, tool: method } };
        return record.requireHandle().request(method, params, options);
      },
    };
    this.#notification = {
      steps: rawSteps,
      dispatch: async ({ record, tool: method, params }) => {
        await record.requireHandle().notify(method, params);
        return { result: undefined, queuedMs: 0 };
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

  /** Sends any other method unchanged. For administrators who know which methods their firmware supports. */
  request(
    principal: Principal,
    device: string,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<FinishedReply<unknown>> {
    return this.#run(this.#rawRequest, principal, device, method, params, options);
  }

  /** Sends a notification. It has no answer and does not wait in the device's queue. */
  async notify(
    principal: Principal,
    device: string,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<void> {
    await this.#run(this.#notification, principal, device, method, params, options);
  }

  /** Records a call that its interface rejected before it had a tool or arguments for the pipeline. Throws the error. */
  async reject(
    principal: Principal,
    device: string,
    name: string,
    args: JsonObject,
    error: TendonError,
  ): Promise<never> {
    const rejected = async () => {
      throw error;
    };
    await this.#run({ steps: [], dispatch: rejected }, principal, device, name, args, {});
    throw error;
  }

  /** Returns the ruling that a call would get before its arguments are checked. Does not make the call. */
  async previewAccess(
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

  /**
   * Decides about a call without making it: scope, rules and arguments, in the order of the pipeline. A call that would
   * be rejected throws the same error. Presence and the queue are not checked, because they may change at any time.
   */
  async check(principal: Principal, device: string, tool: string, args: JsonObject): Promise<CallCheck> {
    const record = this.#dependencies.findDevice(principal, device);
    requireScope(principal, "call");
    const { ruling } = await this.previewAccess(principal, device, tool, args);
    const { argumentText } = new CallContext(this.#dependencies, tool, args, {});
    record.catalogue.checkArguments(tool, args, argumentText, record.kind);
    if (ruling !== undefined) refuseArguments(ruling.malformed);
    const confirm = ruling?.confirm;
    if (confirm === undefined) return { access: "allowed" };
    return { access: "confirm", ...(confirm.reason === undefined ? {} : { reason: confirm.reason }) };
  }

  /** Rejects new calls from now on; resolves when the last running one has ended and its event has been sent. */
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
      const context = new CallContext(this.#dependencies, tool, args, options);
      const found = { definition: undefined, ruling: undefined, grant: undefined };
      const call = { principal, record, tool, args, params, context, ...found };
      this.running.add(call);
      try {
        return await runCall(pipeline, call, this.#finished);
      } finally {
        this.running.remove(call);
      }
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
    const { principal, record, tool, args, context } = call;
    call.definition = record.catalogue.find(tool);
    const unlisted = context.requested.unlisted === true;
    call.ruling = policy.judge(principal, record, tool, call.definition, args, unlisted);
    return undefined;
  };
}

/** Access rules treat a raw request as a call of a tool named like its method. */
function authorizeRequest(policy: Policy): Step {
  return (call) => {
    const { principal, record, tool: method, args } = call;
    call.ruling = policy.judge(principal, record, method, undefined, args, true);
    return undefined;
  };
}

const checkArguments: Step = (call) => {
  const { record, tool, args, context } = call;
  record.catalogue.checkArguments(tool, args, context.argumentText, record.kind);
  return checkRuleArguments(call);
};

const checkRuleArguments: Step = ({ ruling }) => {
  if (ruling !== undefined) refuseArguments(ruling.malformed);
  return undefined;
};

/** Runs the steps, dispatches the call and records its outcome, also if a step throws. */
async function runCall<Result>(
  { steps, dispatch }: Pipeline<Result>,
  call: CallInProgress,
  finished: FinishedCalls,
): Promise<FinishedReply<Result>> {
  const { record, tool, args, context } = call;
  let outcome = "internal";
  let queuedMs = 0;
  let durationMs: number | undefined;
  let detail: string | undefined;
  let unsent = false;
  let answer: unknown;
  let problems: unknown;
  try {
    for (const step of steps) {
      const passed = step(call);
      if (passed !== undefined) await passed;
    }
    context.allowed();
    const { result, queuedMs: queued } = await dispatch(call);
    answer = result;
    queuedMs = rounded(queued);
    durationMs = rounded(context.elapsedMs);
    outcome = isToolError(result) ? "tool_error" : "ok";
    if (tool === upgradeTool) detail = textOf(result);
    return { callId: context.callId, device: record.id, tool, result, queuedMs, durationMs };
  } catch (error) {
    const known =
      error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
    outcome = known.code;
    detail = known.message;
    unsent = known.context["sent"] === false;
    problems = known.context["errors"];
    throw asReported(known, context.callId, record.catalogue.find(tool));
  } finally {
    // The history must have the same duration as the reply.
    durationMs ??= rounded(context.elapsedMs);
    finished.add({
      context,
      args,
      device: record.id,
      tool,
      principal: principalName(call),
      outcome,
      queuedMs,
      durationMs,
      detail,
      unsent,
      answer,
      problems,
    });
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
