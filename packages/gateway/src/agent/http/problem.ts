import { type ErrorCode, inWords, isErrorCode } from "@tendon/protocol";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { TendonError } from "../../errors.ts";
import { problemOf } from "../../problem-document.ts";

const longestShown = 64;

export async function sendProblem(reply: FastifyReply, error: TendonError): Promise<void> {
  const challenge = challengeOf(error, reply.request.headers.authorization !== undefined);
  if (challenge !== undefined) reply.header("www-authenticate", challenge);
  const { retryAfterMs } = error.context;
  if (typeof retryAfterMs === "number") reply.header("retry-after", Math.ceil(retryAfterMs / 1_000));
  const problem = problemOf(error);
  await reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
}

/** The challenge of RFC 6750. It names no authorization server, because the gateway issues the tokens itself. */
function challengeOf({ code, context }: TendonError, hadToken: boolean): string | undefined {
  if (code === "unauthenticated") {
    return `Bearer realm="tendon"${hadToken ? ', error="invalid_token"' : ""}`;
  }
  const { scope } = context;
  if (code !== "forbidden" || typeof scope !== "string") return undefined;
  return `Bearer realm="tendon", error="insufficient_scope", scope="${scope}"`;
}

/** Turns an error of the HTTP framework into a TendonError. The details of an unexpected one go to the log only. */
export function asTendonError(
  error: FastifyError | TendonError,
  request?: Pick<FastifyRequest, "headers" | "routeOptions">,
): TendonError {
  if (error instanceof TendonError) return error;
  if (error.validation !== undefined) {
    const errors = readValidationErrors(error.validation);
    const [first] = errors;
    const where = first === undefined || first.path === "" ? `the ${error.validationContext}` : first.path;
    return new TendonError("bad_request", `${where} ${first?.message ?? "is not valid"}`, { errors });
  }
  const code = codeOfStatus(error.statusCode);
  if (code === undefined)
    return new TendonError("internal", "the request failed; the gateway's log has the details", {}, error);
  return new TendonError(code, hintFor(error.statusCode, request) ?? error.message, {}, error);
}

/** What to send instead, where the framework's message does not say it. */
function hintFor(
  status: number | undefined,
  request: Pick<FastifyRequest, "headers" | "routeOptions"> | undefined,
): string | undefined {
  const bodyLimit = request?.routeOptions.bodyLimit;
  if (status === 413 && bodyLimit !== undefined)
    return `the body is larger than ${bodyLimit} bytes (${Math.floor(bodyLimit / 1024)} KiB)`;
  if (status !== 415 || request === undefined) return undefined;
  const type = request.headers["content-type"]?.slice(0, longestShown);
  const given =
    type === undefined ? "the body has no content type" : `a body of the type \`${type}\` is not accepted`;
  return `${given}; send it with \`Content-Type: application/json\``;
}

/** The validator reports an unknown key twice; this keeps the report that names the key. */
function readValidationErrors(
  validation: NonNullable<FastifyError["validation"]>,
): { path: string; message: string }[] {
  return validation.flatMap(({ keyword, instancePath: path, message = "is not valid", params }) => {
    if (keyword === "boolean") return [];
    const { additionalProperties } = params;
    if (!Array.isArray(additionalProperties)) return [{ path, message: inWords({ message, params }) }];
    return additionalProperties.map((key) => ({
      path: `${path}/${String(key)}`,
      message: "is not a known property",
    }));
  });
}

function codeOfStatus(status: number | undefined): ErrorCode | undefined {
  const code = {
    400: "bad_request",
    404: "not_found",
    405: "not_found",
    413: "payload_too_large",
    414: "bad_request",
    415: "bad_request",
  }[status ?? 500];
  return code !== undefined && isErrorCode(code) ? code : undefined;
}
