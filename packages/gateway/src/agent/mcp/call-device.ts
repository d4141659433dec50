import type { CallToolResult, InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import type { TendonError } from "../../errors.ts";
import type { Asker, ToolAddress } from "./agent-view.ts";
import { asTendonError, failedResult, finishedResult } from "./call-result.ts";
import { givenUp } from "./given-up.ts";

export type CallEnd = CallToolResult | InputRequiredResult;

export async function callDevice(
  view: Asker,
  { device, tool }: ToolAddress,
  args: Record<string, unknown>,
  context: ServerContext,
  timeoutMs?: number,
): Promise<CallEnd> {
  const { registry, principal } = view;
  try {
    const options = { timeoutMs, signal: givenUp(context) };
    return finishedResult(await registry.calls.call(principal, device, tool, args, options));
  } catch (error) {
    const known = asTendonError(error);
    return failedResult(known, lastStatus(view, device, known));
  }
}

function lastStatus(view: Asker, device: string, error: TendonError) {
  if (error.code !== "device_offline") return undefined;
  return view.registry.device(view.principal, device).status;
}
