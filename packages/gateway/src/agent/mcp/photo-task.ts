import { newCallId } from "../../call-ids.ts";
import { photoTool } from "../../calls/calls.ts";
import { CancellationSource } from "../../cancellation.ts";
import { TendonError } from "../../errors.ts";
import type { ToolAddress } from "./agent-view.ts";
import { keptMs } from "./background-calls.ts";
import { originOf } from "./relay.ts";
import type { CallTiming, McpRequest } from "./tool-request.ts";

/**
 * Starts a photo in the background, because it takes 30 to 75 s. Returns false if the call is not a photo that can run
 * at once: the caller then makes an ordinary call, which reports why.
 */
export async function startPhoto(
  request: McpRequest,
  { device, tool }: ToolAddress,
  args: Record<string, unknown>,
  timing: CallTiming,
): Promise<boolean> {
  const { view, inBackground } = request;
  const { services, principal, tasks } = view;
  if (inBackground === undefined || tool !== photoTool || !(await isReady(request, device, args)))
    return false;
  if (!tasks.background.hasRoom(principal.id)) return false;
  const callId = newCallId();
  const signal = new CancellationSource();
  const options = { timeoutMs: timing.timeoutMs, signal, callId, origin: await originOf(request) };
  const call = services.calls.call(principal, device, tool, args, options);
  tasks.background.run(principal.id, callId, signal, call);
  inBackground({ kind: "call", id: callId, ttlMs: keptMs });
  return true;
}

/** Whether the device is online, and the call needs no approval. */
async function isReady(
  { view }: McpRequest,
  device: string,
  args: Record<string, unknown>,
): Promise<boolean> {
  const { services, principal } = view;
  try {
    if (!services.fleet.device(principal, device).online) return false;
    return (await services.calls.check(principal, device, photoTool, args)).access === "allowed";
  } catch (error) {
    if (error instanceof TendonError) return false;
    throw error;
  }
}
