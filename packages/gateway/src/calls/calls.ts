/**
 * The pipeline of a call, the same for every interface [CALL-1…8]: findDevice, requireScope, awaitListing, authorize,
 * requireApproval, checkArguments, useApproval, dispatch, record. This module also contains approvals, fan-out,
 * `device_control`, idempotency and the history.
 */

import type { CallCheck, CallOrigin, JsonObject, QueuedReply, ToolResult } from "@tendon/protocol";
import { asAgent, type Policy, type Principal, type Ruling, requireScope } from "../access/access.ts";
import type { Cancellation } from "../cancellation.ts";
import type { CallLane, Relay } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import { type ControlAction, type DeviceRecord, refuseArguments, untilListed } from "../fleet/fleet.ts";
import type { StoredQueuedCall } from "../store/store.ts";
import {
  authorizeRequest,
  authorizeTool,
  checkArguments,
  checkRuleArguments,
  requireScopeFor,
} from "./access-steps.ts";
import { type Approvals, type Confirm, type Grant, schemaDigest } from "./approvals.ts";
import { awaitListing } from "./await-listing.ts";
import { requireApproval, useApproval } from "./call-approval.ts";
import { CallContext } from "./call-context.ts";
import { textOf } from "./call-end.ts";
import type { CallQueue } from "./call-queue.ts";
import { CallTraces } from "./call-traces.ts";
import {
  type EndedCall,
  type Finished,
  FinishedCalls,
  type FinishedCallsSettings,
} from "./finished-calls.ts";
import { InFlight } from "./in-flight.ts";
import type { FinishedReply, Pipeline, Step } from "./pipeline.ts";
import type { QueuedRun } from "./queue-runner.ts";
import { type QueueRequest, readDetails } from "./queued-call-details.ts";
import {
  authorizeParts,
  enqueue,
  orQueue,
  queuedOptions,
  queuedRun,
  requireSameTool,
} from "./queued-pipeline.ts";
import { runCall } from "./run-call.ts";
import { RunningCalls } from "./running-calls.ts";

export { Approvals } from "./approvals.ts";
export { photoTool } from "./call-context.ts";
export { CallQueue } from "./call-queue.ts";
export type { RecentCall } from "./call-traces.ts";
export { Control } from "./control.ts";
export { ControlSteps } from "./control-steps.ts";
export { type ErasedDevice, Erasure } from "./erasure.ts";
export { FanOut } from "./fan-out.ts";
export { History } from "./history.ts";
export { Idempotency } from "./idempotency.ts";
export { MutedLevels } from "./muted-levels.ts";
export { type Photo, PhotoAccess, type PhotoStorage } from "./photo-access.ts";
export type { FinishedReply } from "./pipeline.ts";
export { QueueRunner } from "./queue-runner.ts";
export {
  queueRequestOf,
  readDetails as queuedCallDetails,
  readEnding as queuedCallEnding,
} from "./queued-call-details.ts";
export { queuedResult } from "./queued-call-view.ts";
export type { RunningCall } from "./running-calls.ts";
export { BoardTools } from "./special-tools.ts";

export interface CallsDependencies extends Omit<FinishedCallsSettings, "traces"> {
  readonly node: string;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly defaultTimeoutMs: number;
  /** How many calls may wait for one device while others run. */
  readonly queueLimit: number;
  /** The calls that wait for devices that are away. */
  readonly queue: Pick<CallQueue, "add" | "requireRoom">;
  /** Throws `device_unknown`. */
  readonly findDevice: (principal: Principal, reference: string) => DeviceRecord;
  /** Whether the device has uploaded the picture of this running call. */
  readonly hasPicture: (callId: string) => boolean;
}

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  /** How long the caller waits, whatever deadline the device or the tool has. */
  readonly maxTimeoutMs?: number | undefined;
  readonly signal?: Cancellation | undefined;
  /** Extra fields of the call's envelope. Devices ignore them; existing apps have them in their logs. */
  readonly envelope?: JsonObject | undefined;
  /** [CTL-5] The tool may be missing from the device's list. It counts as user-only then. */
  readonly unlisted?: boolean | undefined;
  /** The queue of a voice server's calls, or of calls that waited for their device; see Requests. */
  readonly lane?: CallLane | undefined;
  /** The call is queued if its device is away. Only for `callOrQueue`. */
  readonly queue?: QueueRequest | undefined;
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
  readonly #queueableCall: Pipeline<ToolResult>;
  readonly #queueableAction: (action: ControlAction) => Pipeline<ToolResult>;
  readonly #rawRequest: Pipeline<unknown>;
  readonly #notification: Pipeline<undefined>;

  constructor(dependencies: CallsDependencies) {
    this.#dependencies = dependencies;
    const { clock, events, policy, queueLimit, queue } = dependencies;
    this.running = new RunningCalls(dependencies.hasPicture);
    this.#finished = new FinishedCalls({ ...dependencies, traces: this.traces });
    events.subscribe((event) => this.traces.apply(event));
    const [needsApproval, usesApproval] = [requireApproval(dependencies), useApproval(queueLimit, queue)];
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
    this.#queueableCall = { ...this.#toolCall, dispatch: orQueue(queue, this.#toolCall.dispatch) };
    this.#queueableAction = (action) => ({
      steps: [requireScopeFor("call"), awaitListing(clock), authorizeParts(policy, action)],
      dispatch: (call) => enqueue(queue, call, action),
    });
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
    return this.#run(this.#toolCall, principal, device, tool, args, options).then(asFinished);
  }

  /** Like `call`, but a call with `options.queue` waits for a device that is away [QUE-1]. */
  callOrQueue(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<FinishedReply<ToolResult> | QueuedReply> {
    const pipeline = options.queue === undefined ? this.#toolCall : this.#queueableCall;
    return this.#run(pipeline, principal, device, tool, args, options);
  }

  /** Queues an action that is composed of several calls, as one call. */
  queueAction(
    principal: Principal,
    device: string,
    action: ControlAction,
    options: CallOptions,
  ): Promise<QueuedReply> {
    const { tool, arguments: args } = action;
    return this.#run(this.#queueableAction(action), principal, device, tool, args, options).then(asQueued);
  }

  /** Runs a queued call: checks it again, records it as running with `take`, and sends it [QUE-2]. */
  async runQueued(
    principal: Principal,
    call: StoredQueuedCall,
    take: () => Promise<boolean>,
  ): Promise<QueuedRun> {
    const details = readDetails(call.details);
    const asked = details.agent === true ? asAgent(principal) : principal;
    let taken = false;
    let finished: Finished | undefined;
    const { action } = details;
    const again: Step = async () => {
      taken = await take();
      if (!taken) throw new TendonError("conflict", "the call no longer waits");
    };
    const steps = action === undefined ? [...this.#toolCall.steps, requireSameTool(details.schema)] : [];
    const dispatch: Pipeline<ToolResult>["dispatch"] =
      action === undefined
        ? this.#toolCall.dispatch
        : async ({ record, context }) => {
            const part = (tool: string, args: JsonObject, unlisted: boolean) =>
              this.#runPart(asked, record.id, tool, args, {
                ...queuedOptions(call),
                callId: undefined,
                unlisted,
              });
            const options = { timeoutMs: context.timeoutMs, signal: undefined, call: part };
            return { result: await record.requireHandle().control(action, options), queuedMs: 0 };
          };
    const pipeline = { steps: [...steps, again], dispatch };
    const record = {
      add: (ended: Finished) => {
        finished = ended;
      },
    };
    try {
      await this.#run(
        pipeline,
        asked,
        call.device,
        call.tool,
        details.arguments,
        queuedOptions(call),
        record,
      );
      return queuedRun(taken, finished, undefined);
    } catch (error) {
      return queuedRun(taken, finished, error);
    }
  }

  /** Records the end of a queued call, which the store already has. */
  recordQueued(ended: EndedCall): void {
    this.#finished.addQueued(ended);
  }

  /** The digest of a call's arguments as JSON, as in the history. */
  digestOf(text: string): string {
    return this.#finished.digestOf(text);
  }

  /** One call of a queued action. The action has the record. */
  async #runPart(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<ToolResult> {
    const unrecorded = { add: () => undefined };
    const reply = await this.#run(this.#toolCall, principal, device, tool, args, options, unrecorded);
    const { result } = asFinished(reply);
    if (!result.isError) return result;
    throw new TendonError("device_error", textOf(result) ?? "the tool returned an error without text", {
      sent: true,
    });
  }

  /** Sends any other method unchanged. For administrators who know which methods their firmware supports. */
  request(
    principal: Principal,
    device: string,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<FinishedReply<unknown>> {
    return this.#run(this.#rawRequest, principal, device, method, params, options).then(asFinished);
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
    finished: Pick<FinishedCalls, "add"> = this.#finished,
  ): Promise<FinishedReply<Result> | QueuedReply> {
    this.inFlight.enter();
    try {
      const record = this.#dependencies.findDevice(principal, device);
      const args = params ?? {};
      const context = new CallContext(this.#dependencies, tool, args, options, record.callTimeoutMs);
      const found = { definition: undefined, ruling: undefined, grant: undefined };
      const call = { principal, record, tool, args, params, context, ...found };
      this.running.add(call);
      try {
        return await runCall(pipeline, call, finished);
      } finally {
        this.running.remove(call);
      }
    } finally {
      this.inFlight.leave();
    }
  }
}

function asFinished<Result>(reply: FinishedReply<Result> | QueuedReply): FinishedReply<Result> {
  if ("result" in reply) return reply;
  throw new TendonError("internal", "the call was queued unasked");
}

function asQueued(reply: FinishedReply<unknown> | QueuedReply): QueuedReply {
  if ("expiresAt" in reply) return reply;
  throw new TendonError("internal", "the action was not queued");
}
