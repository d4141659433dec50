/** The filters and order of the fleet page. They survive a visit to a device and are reset at sign-out. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import type { SortBy } from "./device-order.ts";

export type Presence = "all" | "online" | "offline";

export interface FleetView {
  readonly search: string;
  readonly presence: Presence;
  readonly tag: string;
  readonly sortBy: SortBy;
}

const viewKey = ["fleetView"] as const;
const rowKey = ["fleetRow"] as const;
const first: FleetView = { search: "", presence: "all", tag: "", sortBy: "alias" };

export function useFleetView() {
  const client = useQueryClient();
  const [view, setView] = useState(() => client.getQueryData<FleetView>(viewKey) ?? first);
  useEffect(() => {
    client.setQueryDefaults(viewKey, { gcTime: Number.POSITIVE_INFINITY });
    client.setQueryData(viewKey, view);
  }, [client, view]);
  const change = useCallback((part: Partial<FleetView>) => setView((before) => ({ ...before, ...part })), []);
  return [view, change] as const;
}

/** The device that was opened last. The list scrolls to it once when the user comes back. */
export function useLastRow() {
  const client = useQueryClient();
  const remember = useCallback((device: string) => client.setQueryData(rowKey, device), [client]);
  const recall = useCallback(() => {
    const device = client.getQueryData<string>(rowKey);
    client.removeQueries({ queryKey: rowKey });
    return device;
  }, [client]);
  return { remember, recall };
}
