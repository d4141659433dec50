/**
 * Errors that reach a caller, and the table of each code's HTTP status, JSON-RPC code, WebSocket close code, and whether a
 * retry can help. A test compares `docs/reference/errors.md` with it.
 */
import { type ErrorCode, errorTitles, isObject } from "@tendon/protocol";

interface ErrorKind {
  readonly status: number;
  /** A code of JSON-RPC if one fits; otherwise the HTTP status, which is in the range for applications. */
  readonly rpcCode: number;
  readonly closeCode: number;
  readonly retryable: boolean;
}

const INVALID_PARAMS = -32602;
const INVALID_REQUEST = -32600;
const INTERNAL = -32603;
const POLICY = 1008;
const TOO_BIG = 1009;
const TRY_LATER = 1013;
const GOING_AWAY = 1001;

function kind(status: number, rpcCode: number, closeCode: number, retryable: boolean): ErrorKind {
  return { status, rpcCode, closeCode, retryable };
}

export const errorKinds = {
  unauthenticated: kind(401, 401, POLICY, false),
  device_unknown: kind(404, 404, POLICY, false),
  forbidden: kind(403, 403, POLICY, false),
  approval_required: kind(403, 403, POLICY, true),
  tool_unknown: kind(404, INVALID_PARAMS, POLICY, false),
  arguments_invalid: kind(422, INVALID_PARAMS, POLICY, false),
  device_offline: kind(503, 503, TRY_LATER, true),
  queue_full: kind(429, 429, TRY_LATER, true),
  rate_limited: kind(429, 429, POLICY, true),
  device_disconnected: kind(502, 502, TRY_LATER, true),
  device_error: kind(502, 502, TRY_LATER, false),
  device_timeout: kind(504, 504, TRY_LATER, true),
  action_unknown: kind(400, INVALID_PARAMS, POLICY, false),
  bad_request: kind(400, INVALID_REQUEST, POLICY, false),
  payload_too_large: kind(413, 413, TOO_BIG, false),
  conflict: kind(409, 409, POLICY, false),
  not_found: kind(404, -32601, POLICY, false),
  cancelled: kind(499, 499, POLICY, true),
  busy: kind(503, 503, TRY_LATER, true),
  node_unreachable: kind(503, 503, TRY_LATER, true),
  shutting_down: kind(503, 503, GOING_AWAY, true),
  storage_unavailable: kind(503, 503, TRY_LATER, true),
  internal: kind(500, INTERNAL, 1011, false),
} as const satisfies Record<ErrorCode, ErrorKind>;

/** What a caller gets beside code and detail: `phase`, `sent`, `errors`, `retryAfterMs`, … */
export type ErrorContext = { readonly [key: string]: unknown };

export class TendonError extends Error {
  readonly code: ErrorCode;
  readonly context: ErrorContext;

  constructor(code: ErrorCode, detail: string, context: ErrorContext = {}, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = "TendonError";
    this.code = code;
    this.context = context;
  }

  get kind(): ErrorKind {
    return errorKinds[this.code];
  }

  get title(): string {
    return errorTitles[this.code];
  }
}

/** The outcome was unknown when the caller stopped waiting. `settled` resolves with what is learnt later. */
export class UndecidedError extends TendonError {
  override readonly name = "UndecidedError";
  readonly settled: Promise<"sent" | "not sent">;

  constructor({ code, message, context }: TendonError, settled: UndecidedError["settled"]) {
    super(code, message, context);
    this.settled = settled;
  }

  /** The undecided error that is or caused this one. */
  static in(error: unknown): UndecidedError | undefined {
    for (let cause = error; cause instanceof TendonError; cause = cause.cause)
      if (cause instanceof UndecidedError) return cause;
    return undefined;
  }
}

/** The JSON-RPC error of a device that caused a failure, if there is one. */
export function jsonRpcErrorOf(
  cause: unknown,
): { readonly code: number; readonly data: unknown } | undefined {
  if (!isObject(cause)) return undefined;
  const { code, data } = cause;
  return Number.isInteger(code) ? { code: Number(code), data } : undefined;
}

/** A problem in the configuration or the environment. The operator sees its message, without a stack trace. */
export class StartError extends Error {
  readonly problems: readonly string[];

  constructor(headline: string, problems: readonly string[] = [], cause?: unknown) {
    super(
      [headline, ...problems.map((problem) => `  ${problem}`)].join("\n"),
      cause === undefined ? undefined : { cause },
    );
    this.name = "StartError";
    this.problems = problems;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What to do about a file or folder that the gateway cannot use at the start. */
export function storageRemedy(error: unknown): string {
  const code = isObject(error) || error instanceof Error ? (error as { code?: unknown }).code : undefined;
  if (code === "ENOSPC" || code === "EDQUOT" || /disk is full/.test(messageOf(error)))
    return "The disk is full: free some space";
  if (code === "EEXIST" || code === "ENOTDIR") return "A file has this name: move it away";
  if (code === "EROFS") return "The disk is mounted read-only: mount it writable";
  return "Fix its permissions";
}
