/** The console's queries. Each has one key, so that events can invalidate it. */

import { infiniteQueryOptions, type QueryClient, queryOptions } from "@tanstack/react-query";
import type {
  CallHistory,
  DeviceDetail,
  DeviceList,
  DeviceOrder,
  RunningCalls,
  SessionView,
  ToolList,
} from "@tendon/protocol";
import { api, inPath, query } from "./client.ts";

const pageOfDevices = 500;

export interface FleetFilter {
  readonly q?: string;
  readonly online?: boolean | undefined;
  readonly tag?: string | undefined;
  readonly sort?: DeviceOrder | undefined;
}

export const keys = {
  session: ["session"] as const,
  fleets: ["devices"] as const,
  fleet: (filter: FleetFilter) => ["devices", filter] as const,
  counts: ["device-counts"] as const,
  device: (id: string) => ["device", id] as const,
  deletion: (id: string) => ["deletion", id] as const,
  tools: (id: string) => ["device", id, "tools"] as const,
  calls: ["calls"] as const,
  running: ["running"] as const,
  pending: ["pending"] as const,
  imports: ["imports"] as const,
  approvals: ["approvals"] as const,
  tokens: ["tokens"] as const,
  audit: ["audit"] as const,
  webhooks: ["webhooks"] as const,
  endpoints: ["endpoints"] as const,
  deliveries: (id: string) => ["webhooks", id] as const,
  conversations: ["conversations"] as const,
  firmware: ["firmware"] as const,
  image: (id: string) => ["firmware", id] as const,
};

export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: ({ signal }) => api<SessionView>("/session", { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export const signedOutSession: SessionView = { principal: null, gateway: null };

/** Removes all data of the previous session at sign-out. */
export function changeSession(client: QueryClient, session: SessionView): void {
  client.setQueryData(keys.session, session);
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== keys.session[0] });
}

/** A request failed because the session has ended. Asks the gateway for the reason and shows it. */
export async function learnWhySignedOut(client: QueryClient): Promise<void> {
  // Without an answer the page stays as it is; the next failed request asks again.
  const found = await api<SessionView>("/session").catch(() => undefined);
  // The user signed out here in the meantime and needs no explanation.
  const before = client.getQueryData<SessionView>(keys.session);
  if (found === undefined || found.principal !== null || before?.principal == null) return;
  changeSession(client, { ...found, ended: found.ended ?? "signed_out" });
}

export function fleetQuery(filter: FleetFilter) {
  return infiniteQueryOptions({
    queryKey: keys.fleet(filter),
    queryFn: ({ pageParam, signal }) =>
      api<DeviceList>(`/devices${query({ ...filter, limit: pageOfDevices, cursor: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor,
    staleTime: 30_000,
  });
}

/** How many devices match and how many of them are connected, for a fleet of which the page loads only a part. */
export function countsQuery({ sort: _, ...filter }: FleetFilter) {
  return queryOptions({
    queryKey: [...keys.counts, filter] as const,
    queryFn: ({ signal }) => api<DeviceList>(`/devices${query({ ...filter, limit: 1 })}`, { signal }),
    staleTime: 10_000,
  });
}

export function deviceQuery(device: string) {
  return queryOptions({
    queryKey: keys.device(device),
    queryFn: ({ signal }) => api<DeviceDetail>(`/devices/${inPath(device)}`, { signal }),
    staleTime: 10_000,
  });
}

export function toolsQuery(device: string) {
  return queryOptions({
    queryKey: keys.tools(device),
    queryFn: ({ signal }) => api<ToolList>(`/devices/${inPath(device)}/tools?user=true`, { signal }),
    staleTime: 60_000,
  });
}

export interface CallFilter {
  readonly device?: string | undefined;
  readonly tool?: string | undefined;
  readonly principal?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: string | undefined;
  /** Whether the list includes the status reads that open console pages make automatically. */
  readonly automatic?: boolean | undefined;
  readonly limit?: number;
}

const runningEveryMs = 1_000;

/** Calls that have not ended. No event announces their start or their phase, so the list is polled. */
export const runningQuery = queryOptions({
  queryKey: keys.running,
  queryFn: ({ signal }) => api<RunningCalls>("/calls/running", { signal }),
  refetchInterval: runningEveryMs,
  gcTime: 0,
});

export function callsQuery(filter: CallFilter) {
  return infiniteQueryOptions({
    queryKey: [...keys.calls, filter] as const,
    queryFn: ({ pageParam, signal }) =>
      api<CallHistory>(
        `/calls${query({ limit: 50, ...filter, automatic: filter.automatic === true, preview: true, cursor: pageParam })}`,
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor,
    staleTime: 10_000,
  });
}
