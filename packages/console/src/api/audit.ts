import { infiniteQueryOptions } from "@tanstack/react-query";
import type { AuditList } from "@tendon/protocol";
import { api, query } from "./client.ts";
import { keys } from "./queries.ts";

export interface AuditFilter {
  readonly principal?: string | undefined;
  readonly action?: string | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
}

export function auditQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: [...keys.audit, filter] as const,
    queryFn: ({ pageParam, signal }) =>
      api<AuditList>(`/audit${query({ ...filter, limit: 50, cursor: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor,
    staleTime: 10_000,
  });
}
