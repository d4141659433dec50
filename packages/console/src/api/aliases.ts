/** Aliases for the ids in histories and events, from the device lists that the page has already loaded. */

import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail, DeviceList } from "@tendon/protocol";
import { useMemo } from "react";
import { fleetQuery, keys } from "./queries.ts";

export function useAliases(): (id: string) => string {
  const client = useQueryClient();
  const { data } = useInfiniteQuery(fleetQuery({}));
  const known = useMemo(() => {
    const lists = client.getQueriesData<InfiniteData<DeviceList>>({ queryKey: keys.fleets });
    const rows = lists.flatMap(([, list]) => list?.pages.flatMap((page) => page.devices) ?? []);
    return new Map(
      [...rows, ...(data?.pages.flatMap((page) => page.devices) ?? [])].map(({ id, alias }) => [id, alias]),
    );
  }, [client, data]);
  return (id) => known.get(id) ?? client.getQueryData<DeviceDetail>(keys.device(id))?.alias ?? id;
}
