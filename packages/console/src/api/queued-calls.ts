/** Calls that wait until their device is online. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { CallReply, CallTrace, QueuedCalls, QueuedReply } from "@tendon/protocol";
import { callPath, type ToolCall } from "./calls.ts";
import { api, inPath, query } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

export type QueuedCall = QueuedCalls["calls"][number];

/** No device has more queued calls than this. */
const shown = 32;
const hourMs = 3_600_000;

export const expiries = { hour: hourMs, day: 24 * hourMs, week: 168 * hourMs, month: 720 * hourMs } as const;
export type ExpiryChoice = keyof typeof expiries;
export const expiryChoices = Object.keys(expiries) as ExpiryChoice[];

/** Oldest first: of one device, or of all. */
export function queuedQuery(device?: string) {
  return queryOptions({
    queryKey: [...keys.calls, "queued", device ?? "all"] as const,
    queryFn: ({ signal }) =>
      api<QueuedCalls>(`/calls${query({ state: "queued", device, limit: shown })}`, { signal }),
    staleTime: 10_000,
  });
}

/** Makes a call that waits if the device is offline. If it is online again, the reply is the result. */
export function useQueueCall(device: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ tool, args, expiry }: ToolCall & { readonly expiry: ExpiryChoice }) =>
      api<CallReply | QueuedReply>(callPath(device, tool), {
        method: "POST",
        body: { arguments: args, whenOffline: "queue", expiresInMs: expiries[expiry] },
      }),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: keys.device(device), exact: true }),
        client.invalidateQueries({ queryKey: queuedQuery(device).queryKey }),
      ]),
  });
}

export function useCancelQueued() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (callId: string) => api<CallTrace>(`/calls/${inPath(callId)}`, { method: "DELETE" }),
    // The call may have started or expired meanwhile: read it again after an error too.
    onSettled: () => client.invalidateQueries({ queryKey: keys.calls }),
  });
}

/** Only the token that asked and an administrator may cancel a queued call. */
export function useMayCancel(): (call: { readonly principal: string }) => boolean {
  const { principal, may } = useSession();
  return (call) => may("admin") || (may("call") && call.principal === principal.name);
}
