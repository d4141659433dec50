/** Calls one tool or one device_control action, and returns the device's answer. */

import { useMutation } from "@tanstack/react-query";
import { automaticRequest, type CallCheck, type CallReply, type ControlResponse } from "@tendon/protocol";
import { useState } from "react";
import { api, cancelledError, inPath } from "./client.ts";
import { addOwnCall, newRequestId, type OwnCall, removeOwnCall } from "./own-calls.ts";

export type Arguments = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly tool: string;
  readonly args: Arguments;
}

/** A call that the user makes. It can be cancelled while it runs: the gateway ends a call whose client disconnects. */
export async function callTool(
  device: string,
  { tool, args }: ToolCall,
  onStart: (call: OwnCall) => void = () => undefined,
): Promise<CallReply> {
  const controller = new AbortController();
  const request = newRequestId();
  const own = { request, device, tool, startedAt: Date.now(), cancel: () => controller.abort() };
  addOwnCall(own);
  onStart(own);
  try {
    return await api<CallReply>(callPath(device, tool), {
      method: "POST",
      body: { arguments: args },
      signal: controller.signal,
      mark: request,
    });
  } catch (error) {
    throw controller.signal.aborted ? cancelledError() : error;
  } finally {
    removeOwnCall(request);
  }
}

/** A read that the page makes by itself. The history keeps it apart from the calls of people. */
export function readTool(device: string, tool: string): Promise<CallReply> {
  return api<CallReply>(callPath(device, tool), {
    method: "POST",
    body: { arguments: {} },
    mark: automaticRequest,
  });
}

export function callPath(device: string, tool: string): string {
  return `/devices/${inPath(device)}/tools/${inPath(tool)}/call`;
}

/** What the gateway would decide about a call. Rejects with the error that the call would get. */
export function useToolCheck(device: string) {
  return useMutation({
    mutationFn: ({ tool, args }: ToolCall) =>
      api<CallCheck>(`/devices/${inPath(device)}/tools/${inPath(tool)}/check`, {
        method: "POST",
        body: { arguments: args },
      }),
  });
}

/** `running`: the call, from its start on. It is over when `isPending` is false. */
export function useToolCall(device: string) {
  const [running, setRunning] = useState<OwnCall>();
  const mutation = useMutation({ mutationFn: (call: ToolCall) => callTool(device, call, setRunning) });
  return { ...mutation, running };
}

export function useControl(device: string) {
  return useMutation({
    mutationFn: (action: string) =>
      api<ControlResponse>(`/devices/${inPath(device)}/control`, {
        method: "POST",
        body: { type: "device_control", action },
      }),
  });
}
