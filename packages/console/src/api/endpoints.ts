import { useQuery } from "@tanstack/react-query";
import type { DeviceDetail, EndpointList } from "@tendon/protocol";
import { api } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

/** Turns the gateway's own endpoint on. */
export const endpointSetting = "endpoint:\n  enabled: true";

/** No event announces a change, so the list is polled. */
const lookEveryMs = 3_000;

export function useEndpoints(wanted = true) {
  const { may } = useSession();
  return useQuery({
    queryKey: keys.endpoints,
    queryFn: ({ signal }) => api<EndpointList>("/endpoints", { signal }),
    enabled: wanted && may("admin"),
    refetchInterval: lookEveryMs,
  });
}

/** The connection of a tool provider. Only administrators of all devices see it. */
export function useProvider({ id, kind }: DeviceDetail) {
  const { principal } = useSession();
  const { data } = useEndpoints(kind === "endpoint" && !principal.limited);
  return kind === "endpoint" ? data?.incoming.providers.find(({ device }) => device === id) : undefined;
}
