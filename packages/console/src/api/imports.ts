import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { ImportList } from "@tendon/protocol";
import { api, query } from "./client.ts";
import { keys } from "./queries.ts";

/** How many imported devices have never connected. The gateway counts them only for a first page. */
export const missingImportsQuery = queryOptions({
  queryKey: [...keys.imports, "count"] as const,
  queryFn: ({ signal }) => api<ImportList>(`/imports${query({ connected: false, limit: 1 })}`, { signal }),
  staleTime: 10_000,
});

/** Imported devices that have never connected. */
export function importsQuery(q: string) {
  return infiniteQueryOptions({
    queryKey: [...keys.imports, q] as const,
    queryFn: ({ pageParam, signal }) =>
      api<ImportList>(`/imports${query({ q, connected: false, limit: 20, cursor: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor,
    staleTime: 10_000,
  });
}
