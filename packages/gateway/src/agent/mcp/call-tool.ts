import { type CallToolRequest, ProtocolError } from "@modelcontextprotocol/server";
import { callsInRounds } from "./call-in-rounds.ts";
import { asTendonError, failedResult } from "./call-result.ts";
import { compactToolCalled } from "./compact/compact.ts";
import { withVisiblePictures } from "./pictures.ts";
import type { CallEnd, McpRequest } from "./tool-request.ts";

/** Calls a tool by its listed name: a compact tool or a tool of a device. */
export async function callTool(request: McpRequest, { params }: CallToolRequest): Promise<CallEnd> {
  const { view, context, inBackground } = request;
  const { name, arguments: args = {} } = params;
  // At the address of one device, all names are tools of that device.
  const compact = view.selection.kind === "device" ? undefined : compactToolCalled(name);
  const calls = callsInRounds(request);
  try {
    if (compact !== undefined)
      return withVisiblePictures(await compact.run({ view, context, inBackground, ...calls }, args));
    const address = view.addressOf(name);
    const end = await calls.call(address, args, {});
    // A tool that declares an output schema must return structured content.
    return view.declaresOutput(address) ? end : withVisiblePictures(end);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const known = asTendonError(error);
    if (known.code === "internal") view.reportFault(known.cause);
    return failedResult(known, undefined, view.selection);
  }
}
