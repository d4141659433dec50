/** How a call's end looks to an agent [SRV-5]: every failure is a result that begins with its code. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject, ToolResult } from "@tendon/protocol";
import { type ErrorContext, TendonError } from "../../errors.ts";
import type { Asker } from "./agent-view.ts";

interface Finished {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly result: ToolResult;
  readonly queuedMs: number;
  readonly durationMs: number;
}

export function finishedResult({ result, ...call }: Finished): CallToolResult {
  return {
    // Safe: the protocol package lets only known kinds of content through, each with the fields of its kind.
    content: result.content as CallToolResult["content"],
    ...(result.isError ? { isError: true } : {}),
    ...(result.structuredContent === undefined ? {} : { structuredContent: result.structuredContent }),
    _meta: { "tendon/call": call },
  };
}

/** The text tells an agent what happened and what to do; programs find the same in `_meta`. */
export function failedResult(error: TendonError, lastStatus?: JsonObject | null): CallToolResult {
  const { code, message, context, kind } = error;
  const next = code === "approval_required" ? whatToDoNext(context) : whenItMayHaveRun(context);
  const known =
    lastStatus === undefined || lastStatus === null
      ? ""
      : `\nlast known state: ${JSON.stringify(lastStatus)}`;
  return {
    content: [{ type: "text", text: `${code}: ${message}${known}${next}` }],
    isError: true,
    _meta: { "tendon/error": { code, retryable: kind.retryable, ...context } },
  };
}

/** No flag that an agent could set skips a person's word; it can only tell people, and try again. */
function whatToDoNext({ approvalId, approvalState, approvalExpiresAt, since }: ErrorContext): string {
  if (approvalState === "denied")
    return `\nDo not repeat it: a person said no, which stands until ${String(approvalExpiresAt)}. Tell the user so.`;
  const wait = JSON.stringify({ types: ["approval.decided"], since });
  return `\nTell the user that a person has to approve request ${String(approvalId)} (in the console, or with \`tendon approvals\`). Then make the same call again, with the same arguments: events_wait with ${wait} tells when, also if it is decided already.`;
}

function whenItMayHaveRun({ sent, retryable }: ErrorContext): string {
  if (sent !== true || retryable !== false) return "";
  return "\nDo not repeat it at once: the device may have carried it out. Check the device's state first, or ask the user.";
}

export function asTendonError(error: unknown): TendonError {
  return error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
}

/** Of a device that is away: the last that was heard of it. */
export function lastStatus({ services, principal }: Asker, device: string, error: TendonError) {
  if (error.code !== "device_offline") return undefined;
  return services.fleet.device(principal, device).status;
}
