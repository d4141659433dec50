import { consolePaths } from "@tendon/protocol";
import { type Session, useSession } from "../api/session.tsx";
import type { Key } from "../i18n/i18n.tsx";
import type { IconName } from "../ui/icon.tsx";

export interface Place {
  readonly to: string;
  readonly icon: IconName;
  readonly word: Extract<Key, `nav.${string}`>;
  /** For whom it is of any use; for everybody by default. */
  readonly isFor?: (session: Session) => boolean;
}

const places: readonly Place[] = [
  { to: consolePaths.fleet, icon: "fleet", word: "nav.fleet" },
  { to: consolePaths.calls, icon: "calls", word: "nav.calls" },
  { to: consolePaths.approvals, icon: "approvals", word: "nav.approvals" },
  { to: consolePaths.home, icon: "home", word: "nav.home" },
  {
    to: consolePaths.voice,
    icon: "voice",
    word: "nav.voice",
    // Whoever can set a voice server up is told how.
    isFor: ({ may, gateway }) => may("read") && (gateway.voice || may("admin")),
  },
  {
    to: consolePaths.firmware,
    icon: "firmware",
    word: "nav.firmware",
    isFor: ({ may }) => may("admin"),
  },
  { to: consolePaths.overview, icon: "overview", word: "nav.overview" },
  { to: consolePaths.connect, icon: "connect", word: "nav.connect" },
];

export function usePlaces(): readonly Place[] {
  const session = useSession();
  return places.filter(({ isFor }) => isFor === undefined || isFor(session));
}

/** Whether a place is where the page is now; a device belongs to the fleet. */
export function isHere(place: Place, location: string): boolean {
  if (place.to === consolePaths.fleet) return location === "/" || location.startsWith("/devices/");
  return location === place.to || location.startsWith(`${place.to}/`);
}

export function deviceAddress(id: string): string {
  return `/devices/${encodeURIComponent(id).replaceAll("%3A", ":")}`;
}

/** The device's page with the form of one tool open. */
export function toolAddress(device: string, tool: string): string {
  return `${deviceAddress(device)}#${encodeURIComponent(tool)}`;
}

export function guideAddress(name: string): string {
  return `/guides/${encodeURIComponent(name)}`;
}

export function callAddress(id: string): string {
  return `/calls/${encodeURIComponent(id)}`;
}
