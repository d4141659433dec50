import { type CallToolRequest, ProtocolError, type ServerContext } from "@modelcontextprotocol/server";
import type { AgentView } from "./agent-view.ts";
import { type CallEnd, callDevice } from "./call-device.ts";
import { asTendonError, failedResult } from "./call-result.ts";
import { compactToolCalled } from "./compact/compact.ts";

/** A call by the name a tool is listed under: one of ours, or a device's. */
export async function callTool(
  view: AgentView,
  request: CallToolRequest,
  context: ServerContext,
): Promise<CallEnd> {
  const { name, arguments: args = {} } = request.params;
  // Where one device is shown alone, all names are its own.
  const compact = view.surface.kind === "device" ? undefined : compactToolCalled(name);
  try {
    if (compact !== undefined) return await compact.run(view, args, context);
    return await callDevice(view, view.addressOf(name), args, context);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    return failedResult(asTendonError(error));
  }
}
