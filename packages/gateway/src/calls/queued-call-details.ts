/** How a call asks for the queue, and what the store keeps of it as JSON: how to run it, and how it ended. */
import type { ArgumentProblem, CallOrigin, CallRequest, JsonObject } from "@tendon/protocol";
import type { ControlAction } from "../fleet/fleet.ts";
import type { KeptAnswer } from "./kept-answer.ts";

/** Where an app over MQTT gets its replies. */
export interface ReplyAddress {
  readonly topic: string;
  /** The correlation data of MQTT 5, in base64. */
  readonly correlation?: string | undefined;
}

export interface QueuedCallDetails {
  readonly arguments: JsonObject;
  /** The tool as it was when the call was asked; `undefined` for an action that is composed of several calls. */
  readonly schema?: string | undefined;
  /** The approval that the call consumed when it was queued. */
  readonly approval?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly envelope?: JsonObject | undefined;
  readonly origin?: CallOrigin | undefined;
  readonly unlisted?: boolean | undefined;
  /** Asked at an endpoint for agents, where `admin` does not include every scope. */
  readonly agent?: boolean | undefined;
  /** Where an app over MQTT gets the reply when the call has ended, and the first fields of that reply. */
  readonly reply?: (ReplyAddress & { readonly head: JsonObject }) | undefined;
  /** A device_control action that is composed of several calls. */
  readonly action?: ControlAction | undefined;
}

export interface EndingDetails {
  readonly detail?: string | undefined;
  readonly sent?: boolean | undefined;
  readonly queuedMs?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly allowedMs?: number | undefined;
  readonly sentMs?: number | undefined;
  readonly answer?: KeptAnswer["result"] | undefined;
  readonly problems?: readonly ArgumentProblem[] | undefined;
}

export function detailsOf(details: QueuedCallDetails): JsonObject {
  return { ...details };
}

/** Safe: only `detailsOf` writes them. */
export function readDetails(details: JsonObject): QueuedCallDetails {
  return details as unknown as QueuedCallDetails;
}

export function endingOf(details: EndingDetails): JsonObject {
  return { ...details };
}

/** Safe: only `endingOf` writes them. */
export function readEnding(ending: JsonObject | undefined): EndingDetails {
  return (ending ?? {}) as EndingDetails;
}

/** How long a call may wait for its device, and which older calls it replaces. */
export interface QueueRequest {
  readonly expiresInMs?: number | undefined;
  readonly supersedeKey?: string | undefined;
  /** The job that the call belongs to. */
  readonly job?: string | undefined;
  /** Where an app over MQTT gets a second reply when the call has ended. */
  readonly reply?: QueuedCallDetails["reply"];
}

/** How a message asks for the queue; `undefined` if it does not. */
export function queueRequestOf({
  whenOffline,
  expiresInMs,
  supersedeKey,
}: Pick<CallRequest, "whenOffline" | "expiresInMs" | "supersedeKey">): QueueRequest | undefined {
  return whenOffline === "queue" ? { expiresInMs, supersedeKey } : undefined;
}
