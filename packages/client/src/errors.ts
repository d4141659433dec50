import type { Problem } from "@tendon/protocol";

/** The gateway answered with an error. Branch on `code`, which is stable; `message` describes the individual case. */
export class TendonApiError extends Error {
  override readonly name = "TendonApiError";
  readonly code: string;
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The whole problem document, with the fields of this error: `callId`, `approvalId`, `errors`, `retryAfterMs`, … */
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.code = problem.code;
    this.status = problem.status;
    this.retryable = problem.retryable === true;
    this.problem = problem;
  }
}

/** The answer did not come from a gateway: another server or a proxy answered. */
export class NotAGatewayError extends Error {
  override readonly name = "NotAGatewayError";
  readonly status: number;
  /** The address that the server redirects to. Redirects are not followed, so that the token stays where it belongs. */
  readonly location: string | undefined;

  constructor(status: number, location: string | undefined) {
    super(`the server answered with HTTP status ${status}, and not as a Tendon gateway`);
    this.status = status;
    this.location = location;
  }
}

/** The connection was lost after the answer had begun: the request may have been carried out. */
export class AnswerLostError extends Error {
  override readonly name = "AnswerLostError";

  constructor(cause: unknown) {
    super("the connection was lost before the answer was complete", { cause });
  }
}

/** Reads the error of a response that is not ok. */
export function errorOf({ status, headers }: Response, text: string): TendonApiError | NotAGatewayError {
  try {
    const problem = JSON.parse(text) as Partial<Problem>;
    if (typeof problem.code === "string") return new TendonApiError(problem as Problem);
  } catch {
    // Not JSON, so not from a gateway.
  }
  return new NotAGatewayError(status, headers.get("location") ?? undefined);
}
