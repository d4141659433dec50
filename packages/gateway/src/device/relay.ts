import type { JsonObject } from "@tendon/protocol";

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A request of a program to its caller: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * What passes between a caller that speaks MCP and a program that does too, beside a call's arguments and its result.
 * Boards know nothing of it.
 */
export interface Relay {
  /** Who calls: two calls with the same value come from the same principal. */
  readonly caller: string;
  /** What the caller is able to do and wants to be told, in the words of MCP's `_meta`. */
  readonly meta: JsonObject;
  /** The caller's answers to what the program asked in an earlier round. */
  readonly inputResponses?: JsonObject | undefined;
  /** The program's own note from that round, as it gave it. */
  readonly requestState?: string | undefined;
  /**
   * Asks the caller what a program of the older era asks while it carries the call out. Rejects with an error that has
   * a JSON-RPC `code` where the caller does not answer.
   */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject>;
  progress(progress: Progress): void;
  log(entry: JsonObject): void;
}
