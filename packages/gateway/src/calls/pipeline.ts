/**
 * The steps of a call, in the documented order of errors. Each step lets the call pass or throws a TendonError with its
 * own code. A new capability is a new step or a new target of `dispatch`, not a branch inside a step.
 */
import type { JsonObject, QueuedReply, ToolDefinition } from "@tendon/protocol";
import type { Principal, Ruling } from "../access/access.ts";
import type { DeviceRecord, Sent } from "../fleet/fleet.ts";
import type { Grant } from "./approvals.ts";
import type { CallContext } from "./call-context.ts";

export interface CallInProgress {
  readonly principal: Principal;
  readonly record: DeviceRecord;
  /** The tool, or the method of a raw request. */
  readonly tool: string;
  readonly args: JsonObject;
  /** The arguments as the caller sent them: a raw request may have none. */
  readonly params: JsonObject | undefined;
  readonly context: CallContext;
  /** Set by `authorize`, like `ruling`. */
  definition: ToolDefinition | undefined;
  ruling: Ruling | undefined;
  /** Set by `requireApproval` and consumed by `useApproval`. */
  grant: Grant | undefined;
}

/** A step that does not wait returns `undefined`, so that most calls pass all steps in one turn of the event loop. */
export type Step = (call: CallInProgress) => Promise<void> | undefined;

/** The device is away, and the call waits for it in the store. */
export interface Queued {
  readonly queued: QueuedReply;
}

export interface Pipeline<Result> {
  readonly steps: readonly Step[];
  readonly dispatch: (call: CallInProgress) => Promise<Sent<Result> | Queued>;
}

export interface FinishedReply<Result> {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly result: Result;
  readonly queuedMs: number;
  readonly durationMs: number;
}
