/** Queued calls, for agents whose client does not have the tasks extension [SRV-18]. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { CallTrace, JsonObject } from "@tendon/protocol";
import type { Caller } from "../agent-view.ts";
import { answer } from "./compact-tool.ts";

/** Reads or cancels a queued call. */
export async function askQueued(view: Caller, callId: string, cancel: boolean): Promise<CallToolResult> {
  const { history } = view.services;
  const trace = cancel
    ? await history.cancel(view.principal, callId)
    : await history.trace(view.principal, callId);
  return answer(summaryOf(trace));
}

function summaryOf(trace: CallTrace): JsonObject {
  const { callId, device, tool, state, outcome, expiresAt, at, detail, answer: result } = trace;
  const shown = { callId, device, tool, state, outcome, expiresAt, finishedAt: at, detail, result };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null));
}
