import { type CallToolRequest, ProtocolError } from "@modelcontextprotocol/server";
import type { CallEnd, McpRequest } from "./asking.ts";
import { callsInRounds } from "./call-in-rounds.ts";
import { asTendonError, failedResult } from "./call-result.ts";
import { compactToolCalled } from "./compact/compact.ts";
import { withPicturesFirst } from "./pictures.ts";

/** A call by the name a tool is listed under: one of ours, or a device's. */
export async function callTool(request: McpRequest, { params }: CallToolRequest): Promise<CallEnd> {
  const { view, context } = request;
  const { name, arguments: args = {} } = params;
  // Where one device is shown alone, all names are its own.
  const compact = view.surface.kind === "device" ? undefined : compactToolCalled(name);
  const calls = callsInRounds(request);
  try {
    if (compact !== undefined) return withPicturesFirst(await compact.run({ view, context, ...calls }, args));
    const address = view.addressOf(name);
    const end = await calls.call(address, args, undefined);
    // The protocol obliges a tool that declares its output to return it.
    return view.declaresOutput(address) ? end : withPicturesFirst(end);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const known = asTendonError(error);
    if (known.code === "internal") view.reportFault(known.cause);
    return failedResult(known);
  }
}
