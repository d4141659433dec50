import { consolePaths } from "@tendon/protocol";
import { type Session, useSession } from "../api/session.tsx";
import type { Key } from "../i18n/i18n.tsx";
import type { IconName } from "../ui/icon.tsx";

export interface Place {
  readonly to: string;
  readonly icon: IconName;
  readonly label: Extract<Key, `nav.${string}`>;
  /** Pages for administrators have a heading of their own. */
  readonly group?: "administration";
  /** Who sees the entry; everyone by default. */
  readonly isFor?: (session: Session) => boolean;
}

const places: readonly Place[] = [
  { to: consolePaths.fleet, icon: "fleet", label: "nav.fleet" },
  { to: consolePaths.calls, icon: "calls", label: "nav.calls" },
  { to: consolePaths.approvals, icon: "approvals", label: "nav.approvals" },
  { to: consolePaths.home, icon: "home", label: "nav.home" },
  {
    to: consolePaths.voice,
    icon: "voice",
    label: "nav.voice",
    // Administrators see the page without a voice server too, because it explains how to set one up.
    isFor: ({ may, gateway }) => may("read") && (gateway.voice || may("admin")),
  },
  { to: consolePaths.overview, icon: "overview", label: "nav.overview" },
  { to: consolePaths.connect, icon: "connect", label: "nav.connect" },
  { to: consolePaths.guides, icon: "guides", label: "nav.guides" },
  administration(consolePaths.tokens, "key", "nav.tokens"),
  administration(consolePaths.webhooks, "bell", "nav.webhooks"),
  administration(consolePaths.voiceAgents, "agent", "nav.voiceAgents"),
  administration(consolePaths.audit, "audit", "nav.audit"),
  administration(consolePaths.settings, "settings", "nav.settings"),
  administration(consolePaths.firmware, "firmware", "nav.firmware"),
];

function administration(to: string, icon: IconName, label: Place["label"]): Place {
  return { to, icon, label, group: "administration", isFor: ({ may }) => may("admin") };
}

export function usePlaces(): readonly Place[] {
  const session = useSession();
  return places.filter(({ isFor }) => isFor === undefined || isFor(session));
}

/** Whether an entry is the current page. Device pages belong to the fleet. */
export function isHere(place: Place, location: string): boolean {
  if (place.to === consolePaths.fleet) return location === "/" || location.startsWith("/devices/");
  return location === place.to || location.startsWith(`${place.to}/`);
}

export function deviceAddress(id: string): string {
  return `/devices/${encodeURIComponent(id).replaceAll("%3A", ":")}`;
}

/** The address of the dialog that adds a device of a kind. */
export function addAddress(kind: string): string {
  return `${consolePaths.fleet}?add=${encodeURIComponent(kind)}`;
}

/** What a part of an address says. The router leaves some characters encoded, such as the colon. */
export function readAddressPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a device's page with the form of one tool open. */
export function toolAddress(device: string, tool: string): string {
  return `${deviceAddress(device)}#${encodeURIComponent(tool)}`;
}

export function guideAddress(name: string): string {
  return `/guides/${encodeURIComponent(name)}`;
}

export function callAddress(id: string): string {
  return `/calls/${encodeURIComponent(id)}`;
}
