/** Which events a webhook gets. */
import { eventTypes, type GatewayEvent } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import type { StoredWebhook } from "../../store/store.ts";

export function matches(
  { types, devices }: Pick<StoredWebhook, "types" | "devices">,
  { type, device }: Pick<GatewayEvent, "type" | "device">,
  tagsOf: (device: string) => readonly string[],
): boolean {
  if (!types.some((pattern) => matchesType(pattern, type))) return false;
  if (devices === undefined) return true;
  if (device === undefined) return false;
  return devices.ids.includes(device) || tagsOf(device).some((tag) => devices.tags.includes(tag));
}

function matchesType(pattern: string, type: string): boolean {
  if (pattern === "*" || pattern === type) return true;
  return pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1));
}

/** Rejects a pattern that no event has, because the webhook would stay silent without a reason. */
export function refuseUnknownTypes(types: readonly string[]): void {
  const index = types.findIndex((pattern) => !eventTypes.some((type) => matchesType(pattern, type)));
  if (index === -1) return;
  const detail = `/types/${index} no event has the type \`${types[index]}\`; the types are ${eventTypes.join(", ")}`;
  throw new TendonError("bad_request", detail);
}
