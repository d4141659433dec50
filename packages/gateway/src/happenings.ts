/** What is told of things that happened, where that is more than a word or two. */

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

/** How far a device has come with an image. */
export interface FirmwareNews {
  readonly image: string;
  readonly version: string;
  readonly outcome: "fetched" | "updated" | "failed";
  readonly reason?: string;
}

interface Passed {
  readonly packets: number;
  readonly lost: number;
}

/** A conversation in numbers; what was said is nobody's business. */
export interface EndedConversation {
  readonly upstream: string;
  readonly kind: string;
  readonly detail: string;
  readonly up: Passed;
  readonly down: Passed;
}
