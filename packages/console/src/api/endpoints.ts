import { useQuery } from "@tanstack/react-query";
import type { EndpointList } from "@tendon/protocol";
import { api } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

/** No event announces a change, so the list is polled. */
const lookEveryMs = 3_000;

export function useEndpoints() {
  const { may } = useSession();
  return useQuery({
    queryKey: keys.endpoints,
    queryFn: ({ signal }) => api<EndpointList>("/endpoints", { signal }),
    enabled: may("admin"),
    refetchInterval: lookEveryMs,
  });
}
