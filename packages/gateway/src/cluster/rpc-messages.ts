/** What nodes send one another for a request, and how errors travel. */
import { isObject } from "@tendon/protocol";
import { type ErrorContext, jsonRpcErrorOf, TendonError } from "../errors.ts";

export interface Request {
  /** When it was sent, for nodes of 0.2 and older, which compare it with their own clock. */
  readonly at: number;
  /** When it was sent, by the sender's monotonic clock. Only the request's age is computed from it. */
  readonly sentAt?: number;
  /** How long the sender waits: a request that is older than this when it arrives is not run. */
  readonly timeoutMs: number;
  readonly body: unknown;
  /** The node that sent it. */
  readonly from: string;
  /** Identifies the sender's callbacks, if it has any. */
  readonly callbacks?: string | undefined;
  /** Set if the body is too large for a message and must be fetched. */
  readonly parts?: Parts | undefined;
}

/** A large body that its sender keeps until it has been fetched. */
export interface Parts {
  readonly parts: number;
  readonly node: string;
  readonly answer: string;
}

export type Answer =
  | { readonly ok: true; readonly body: unknown }
  | {
      readonly ok: false;
      readonly code: TendonError["code"];
      readonly detail: string;
      readonly context: ErrorContext;
      /** The JSON-RPC error of a device that caused it. */
      readonly cause?: unknown;
    }
  | Parts;

export function failure(error: TendonError): Answer {
  const cause = jsonRpcErrorOf(error.cause);
  return { ok: false, code: error.code, detail: error.message, context: error.context, cause };
}

/** Whether a late answer says that the request may have run. Without responders it did not. */
export function wasSent(answer: unknown): boolean {
  if (!isObject(answer)) return answer !== undefined;
  const { ok, context } = answer;
  return !(ok === false && isObject(context) && context["sent"] === false);
}

export function cancelled(sent: boolean): TendonError {
  return new TendonError("cancelled", "the caller stopped waiting", { sent });
}
