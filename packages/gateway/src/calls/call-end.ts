/** How the end of a call is reported: to its caller, in the history and in its event. */
import { isObject, type ToolDefinition, toolAnnotations } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

export function isToolError(result: unknown): boolean {
  return typeof result === "object" && result !== null && "isError" in result && result.isError === true;
}

/** The text of a result's first content item. */
export function textOf(result: unknown): string | undefined {
  const content = isObject(result) ? result["content"] : undefined;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) && typeof first["text"] === "string" ? first["text"] : undefined;
}

/** [CALL-9] A call that may have run is retryable only if its tool is read-only or idempotent. */
export function asReported(
  error: TendonError,
  callId: string,
  tool: ToolDefinition | undefined,
): TendonError {
  const { code, message, context, kind, cause = error } = error;
  const mayHaveRun = kind.retryable && context["sent"] === true;
  const once = mayHaveRun && !(tool !== undefined && isRepeatable(tool)) ? { retryable: false } : {};
  return new TendonError(code, message, { ...context, ...once, callId }, cause);
}

function isRepeatable(tool: ToolDefinition): boolean {
  const { readOnlyHint, idempotentHint } = toolAnnotations(tool);
  return readOnlyHint || idempotentHint;
}
