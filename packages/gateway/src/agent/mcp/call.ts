import type { CallToolRequest, CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import type { TendonError } from "../../errors.ts";
import type { AgentView, ToolAddress } from "./agent-view.ts";
import { asTendonError, failedResult, finishedResult } from "./call-result.ts";
import { givenUp } from "./given-up.ts";

export async function callTool(
  view: AgentView,
  request: CallToolRequest,
  context: ServerContext,
): Promise<CallToolResult> {
  const { name, arguments: args = {} } = request.params;
  return await callDevice(view, view.addressOf(name), args, context);
}

async function callDevice(
  view: AgentView,
  { device, tool }: ToolAddress,
  args: Record<string, unknown>,
  context: ServerContext,
): Promise<CallToolResult> {
  const { registry, principal } = view;
  try {
    const done = await registry.calls.call(principal, device, tool, args, { signal: givenUp(context) });
    return finishedResult(done);
  } catch (error) {
    const known = asTendonError(error);
    return failedResult(known, lastStatus(view, device, known));
  }
}

function lastStatus(view: AgentView, device: string, error: TendonError) {
  if (error.code !== "device_offline") return undefined;
  return view.registry.device(view.principal, device).status;
}
