/**
 * The filters and the order of the fleet page. They are in the address, so that a link shows the same devices. A visit to
 * a device keeps them; signing out resets them.
 */
import { useQueryClient } from "@tanstack/react-query";
import { consolePaths } from "@tendon/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { query } from "../../api/client.ts";
import { defaultOrder, type Order, readOrder, writeOrder } from "./device-order.ts";

export type Presence = "all" | "online" | "offline";

export interface FleetView {
  readonly search: string;
  readonly presence: Presence;
  readonly tag: string;
  readonly order: Order;
  /** The kind of device that the open dialog adds; empty without a dialog. */
  readonly add: string;
}

const viewKey = ["fleetView"] as const;
const rowKey = ["fleetRow"] as const;
/** Typing changes the address once, not with each key. */
const writeMs = 150;

function readView(search: string): FleetView {
  const values = new URLSearchParams(search);
  const online = values.get("online");
  return {
    search: values.get("q") ?? "",
    presence: online === "true" ? "online" : online === "false" ? "offline" : "all",
    tag: values.get("tag") ?? "",
    order: readOrder(values.get("sort") ?? "") ?? defaultOrder,
    add: values.get("add") ?? "",
  };
}

/** The query with the names of `GET /devices`, empty for the first view. */
function writeView({ search, presence, tag, order, add }: FleetView): string {
  const sort = writeOrder(order);
  return query({
    q: search.trim(),
    online: presence === "all" ? undefined : presence === "online",
    tag,
    sort: sort === writeOrder(defaultOrder) ? undefined : sort,
    add,
  });
}

export function useFleetView() {
  const client = useQueryClient();
  const address = useSearch();
  const [, navigate] = useLocation();
  const [view, setView] = useState(
    () => (address === "" ? client.getQueryData<FleetView>(viewKey) : undefined) ?? readView(address),
  );
  /** The address that this page wrote or read last. Another one is a link, or the way back. */
  const written = useRef(address);
  useEffect(() => {
    if (address === written.current) return;
    written.current = address;
    setView(readView(address));
  }, [address]);
  useEffect(() => {
    client.setQueryDefaults(viewKey, { gcTime: Number.POSITIVE_INFINITY });
    client.setQueryData(viewKey, { ...view, add: "" });
    const wanted = writeView(view);
    if (wanted === writeView(readView(written.current))) return;
    const timer = setTimeout(() => {
      // The user may have left for a page that is still loading, while this one is shown until it is there.
      if (window.location.pathname !== consolePaths.fleet) return;
      written.current = wanted;
      navigate(`${consolePaths.fleet}${wanted}`, { replace: true });
    }, writeMs);
    return () => clearTimeout(timer);
  }, [client, view, navigate]);
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
