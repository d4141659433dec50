/** The result of a call as an MCP result [SRV-5]. A failure is a result whose text begins with the error code. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject, QueuedReply, ToolResult } from "@tendon/protocol";
import { type ErrorContext, TendonError } from "../../errors.ts";
import type { Caller } from "./agent-view.ts";
import type { ViewSelection } from "./view-selection.ts";

interface Finished {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly result: ToolResult;
  readonly queuedMs: number;
  readonly durationMs: number;
}

/** How to have a call wait for a device that is away. */
export const queueHint = 'device_call with when_offline: "queue" keeps the call until the device is online';

export function repliedResult(reply: Finished | QueuedReply, view: Caller): CallToolResult {
  return "result" in reply ? finishedResult(reply) : queuedAnswer(reply, view);
}

function finishedResult({ result, ...call }: Finished): CallToolResult {
  return {
    // Safe: the protocol package accepts only known kinds of content, each with its fields.
    content: result.content as CallToolResult["content"],
    ...(result.isError ? { isError: true } : {}),
    ...(result.structuredContent === undefined ? {} : { structuredContent: result.structuredContent }),
    _meta: { "tendon/call": call },
  };
}

/** A call that waits for its device: short, because the agent only needs the id and the expiry. */
function queuedAnswer(queued: QueuedReply, { services, principal }: Caller): CallToolResult {
  const { callId, device, expiresAt } = queued;
  const { alias } = services.fleet.device(principal, device);
  const text = `queued: \`${alias}\` is offline. The call runs when it is online, until ${expiresAt}. Do not repeat it. Its state: device_call with only callId: "${callId}".`;
  return {
    content: [{ type: "text", text }],
    structuredContent: { ...queued },
    _meta: { "tendon/call": queued },
  };
}

/** The text says what happened and what to do; `_meta` has the same for programs. `at`: the address of an MCP client. */
export function failedResult(
  error: TendonError,
  lastStatus?: JsonObject | null,
  at?: ViewSelection,
): CallToolResult {
  const { code, message, context, kind } = error;
  const next =
    code === "approval_required"
      ? whatToDoNext(context)
      : code === "device_offline"
        ? `\nThe call did not run. ${queueHint}${at?.kind === "device" ? "; the endpoint /mcp has that tool" : ""}.`
        : whenItMayHaveRun(context);
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

/** An agent cannot skip the approval; it can only inform the user and repeat the call. */
function whatToDoNext({ approvalId, approvalState, approvalExpiresAt, since }: ErrorContext): string {
  if (approvalState === "denied")
    return `\nDo not repeat it: a person denied the call, and the denial is valid until ${String(approvalExpiresAt)}. Tell the user.`;
  const wait = JSON.stringify({ types: ["approval.decided"], since });
  return `\nTell the user that a person must approve request ${String(approvalId)} (in the console, or with \`tendon approvals\`). Then make the same call again, with the same arguments. To wait for the decision, call events_wait with ${wait}; it also returns a decision that was made before.`;
}

function whenItMayHaveRun({ sent, retryable }: ErrorContext): string {
  if (sent !== true || retryable !== false) return "";
  return "\nDo not repeat it at once: the device may have run the call. Check the device's state first, or ask the user.";
}

export function asTendonError(error: unknown): TendonError {
  return error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
}

/** The last known status, if the device is offline. */
export function lastStatus({ services, principal }: Caller, device: string, error: TendonError) {
  if (error.code !== "device_offline") return undefined;
  return services.fleet.device(principal, device).status;
}
