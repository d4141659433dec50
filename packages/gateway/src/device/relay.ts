import type { JsonObject } from "@tendon/protocol";

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/**
 * What passes between a caller that speaks MCP and a program that does too, beside a call's arguments and its result.
 * Boards know nothing of it.
 */
export interface Relay {
  /** What the caller is able to do and wants to be told, in the words of MCP's `_meta`. */
  readonly meta: JsonObject;
  /** The caller's answers to what the program asked in an earlier round. */
  readonly inputResponses?: JsonObject | undefined;
  /** The program's own note from that round, as it gave it. */
  readonly requestState?: string | undefined;
  progress(progress: Progress): void;
  log(entry: JsonObject): void;
}
