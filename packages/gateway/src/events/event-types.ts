/** The data of events that carry more than a few fields. */
import type { NumberedEvent } from "./event-buffer.ts";

export interface OnlineDevice {
  readonly transport: string;
  readonly alias: string;
  /** Whether it offers tools. */
  readonly mcp: boolean;
  readonly sessionId: string;
}

export interface FinishedCall {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly principal: string;
  /** `ok`, `tool_error` for an answer with isError, or an error's code. */
  readonly outcome: string;
  readonly queuedMs: number;
  readonly durationMs: number;
}

/** The progress of a device with a firmware image. */
export interface FirmwareProgress {
  readonly image: string;
  readonly version: string;
  readonly outcome: "fetched" | "updated" | "failed";
  readonly reason?: string;
}

interface Passed {
  readonly packets: number;
  readonly lost: number;
}

/** Statistics of a conversation, without its content. */
export interface EndedConversation {
  readonly upstream: string;
  readonly kind: string;
  readonly detail: string;
  readonly up: Passed;
  readonly down: Passed;
}

/** A finished call as the event that reported it. */
export function finishedCallEvent(sequence: number, at: number, call: FinishedCall): NumberedEvent {
  const { device, ...data } = call;
  return { sequence, type: "call.finished", at, device, data };
}

/** A device that waits for approval. */
export interface PendingDevice {
  readonly board: string | null;
  readonly firmware: string | null;
  readonly from: string | null;
  readonly standing: string;
}

/** A firmware image and the devices that it is offered to. */
export interface OfferedImage {
  readonly board: string;
  readonly version: string;
  readonly share: number;
  readonly tags: readonly string[];
  readonly state: string;
}

export interface HaltedImage {
  readonly image: string;
  readonly board: string;
  readonly version: string;
  readonly reason: string;
}

/** What a rejected request exceeded. */
export type Limit = "principal" | "address" | "sign-in" | "connection" | "overload";
