import { useInfiniteQuery } from "@tanstack/react-query";
import { fleetQuery } from "./queries.ts";

/** The tags of the devices that the fleet's list has loaded, as suggestions. */
export function useFleetTags(wanted: boolean): readonly string[] {
  const { data } = useInfiniteQuery({ ...fleetQuery({}), enabled: wanted });
  const devices = data?.pages.flatMap((page) => page.devices) ?? [];
  return [...new Set(devices.flatMap(({ tags }) => tags))].sort((a, b) => a.localeCompare(b));
}
