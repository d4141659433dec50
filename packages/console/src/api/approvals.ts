import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApprovalList, ApprovalView } from "@tendon/protocol";
import { api, inPath, query } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

function approvalsQuery(state?: ApprovalView["state"]) {
  return queryOptions({
    queryKey: [...keys.approvals, state ?? "all"] as const,
    queryFn: ({ signal }) => api<ApprovalList>(`/approvals${query({ state, limit: 100 })}`, { signal }),
    staleTime: 10_000,
    // No event announces that a request has expired, so the list is polled.
    refetchInterval: 30_000,
  });
}

/** The waiting approvals or all of them. Not requested when the token cannot read approvals. */
export function useApprovals(state?: ApprovalView["state"]) {
  const { may } = useSession();
  return useQuery({ ...approvalsQuery(state), enabled: may("call") || may("call:user") });
}

/** The number of waiting approvals, for the badge in the navigation. */
export function useWaitingCount(): number {
  return useApprovals("waiting").data?.approvals.length ?? 0;
}

export interface Decision {
  readonly id: string;
  readonly decision: "approve" | "deny";
}

export function useDecide() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, decision }: Decision) =>
      api<ApprovalView>(`/approvals/${inPath(id)}/${decision}`, { method: "POST" }),
    onSettled: () => client.invalidateQueries({ queryKey: keys.approvals }),
  });
}
