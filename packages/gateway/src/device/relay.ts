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
 * What an MCP caller and an MCP program exchange in addition to a call's arguments and result. Boards do not use it.
 */
export interface Relay {
  /** Identifies the caller. Two calls with the same value come from the same principal. */
  readonly caller: string;
  /** The caller's capabilities and subscriptions, as MCP's `_meta`. */
  readonly meta: JsonObject;
  /** The caller's answers to the program's questions of an earlier round. */
  readonly inputResponses?: JsonObject | undefined;
  /** The program's state from that round, unchanged. */
  readonly requestState?: string | undefined;
  /**
   * Asks the caller a question of a program of the older era during the call. If the caller does not answer, rejects
   * with an error that has a JSON-RPC `code`.
   */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject>;
  progress(progress: Progress): void;
  log(entry: JsonObject): void;
}
