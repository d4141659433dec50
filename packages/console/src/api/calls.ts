/** Calls one tool or one device_control action, and returns the device's answer. */

import { useMutation } from "@tanstack/react-query";
import type { CallReply, ControlResponse } from "@tendon/protocol";
import { api, inPath } from "./client.ts";

export type Arguments = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly tool: string;
  readonly args: Arguments;
}

export function callTool(device: string, { tool, args }: ToolCall): Promise<CallReply> {
  return api<CallReply>(`/devices/${inPath(device)}/tools/${inPath(tool)}/call`, {
    method: "POST",
    body: { arguments: args },
  });
}

export function useToolCall(device: string) {
  return useMutation({ mutationFn: (call: ToolCall) => callTool(device, call) });
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
