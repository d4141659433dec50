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
    // Requests run out by themselves, which nobody announces.
    refetchInterval: 30_000,
  });
}

/** Those that wait, or all of them; nobody is asked who may not be told. */
export function useApprovals(state?: ApprovalView["state"]) {
  const { may } = useSession();
  return useQuery({ ...approvalsQuery(state), enabled: may("call") || may("call:user") });
}

/** How many wait, for the badge that is everywhere. */
export function useWaitingCount(): number {
  return useApprovals("waiting").data?.approvals.length ?? 0;
}

export interface Decision {
  readonly id: string;
  readonly word: "approve" | "deny";
}

export function useDecide() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, word }: Decision) =>
      api<ApprovalView>(`/approvals/${inPath(id)}/${word}`, { method: "POST" }),
    onSettled: () => client.invalidateQueries({ queryKey: keys.approvals }),
  });
}
