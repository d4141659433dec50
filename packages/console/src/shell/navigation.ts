import { consolePaths } from "@tendon/protocol";
import type { Key } from "../i18n/i18n.tsx";
import type { IconName } from "../ui/icon.tsx";

export interface Place {
  readonly to: string;
  readonly icon: IconName;
  readonly word: Key;
}

export const places = [
  { to: consolePaths.fleet, icon: "fleet", word: "nav.fleet" },
  { to: consolePaths.calls, icon: "calls", word: "nav.calls" },
  { to: consolePaths.approvals, icon: "approvals", word: "nav.approvals" },
  { to: consolePaths.home, icon: "home", word: "nav.home" },
  { to: consolePaths.overview, icon: "overview", word: "nav.overview" },
  { to: consolePaths.connect, icon: "connect", word: "nav.connect" },
] as const satisfies readonly Place[];

/** Whether a place is where the page is now; a device belongs to the fleet. */
export function isHere(place: Place, location: string): boolean {
  if (place.to === consolePaths.fleet) return location === "/" || location.startsWith("/devices/");
  return location === place.to || location.startsWith(`${place.to}/`);
}

export function deviceAddress(id: string): string {
  return `/devices/${encodeURIComponent(id).replaceAll("%3A", ":")}`;
}

export function callAddress(id: string): string {
  return `/calls/${encodeURIComponent(id)}`;
}
