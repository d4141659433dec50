/**
 * The order of devices. Names are sorted naturally: `lamp-2` before `lamp-10`. Ids are sorted as text, and so is the end
 * of the id in a generated alias: `0a`, `10`, `1f`.
 */
import type { Device } from "@tendon/protocol";

export const sortKeys = ["alias", "lastSeen", "board", "tools"] as const;
export type SortBy = (typeof sortKeys)[number];

export function isSortBy(text: string): text is SortBy {
  return sortKeys.some((key) => key === text);
}

interface Placed {
  readonly device: Device;
  /** The part of the alias that a person chose: all of it, or the part before the end of the id. */
  readonly stem: string;
  readonly tail: string;
  /** The number that distinguishes two equal aliases. */
  readonly rest: string;
}

const natural = new Intl.Collator(undefined, { numeric: true });

function byText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function placed(device: Device): Placed {
  const { id, alias } = device;
  const hex = id.toLowerCase().replaceAll(/[^0-9a-f]/g, "");
  const [, stem = "", tail = "", rest = ""] = /^(.+-)([0-9a-f]{4})(-\d+)?$/.exec(alias) ?? [];
  return tail !== "" && hex.endsWith(tail)
    ? { device, stem, tail, rest }
    : { device, stem: alias, tail: "", rest: "" };
}

function byName(a: Placed, b: Placed): number {
  return (
    natural.compare(a.stem, b.stem) ||
    byText(a.tail, b.tail) ||
    natural.compare(a.rest, b.rest) ||
    byText(a.device.id, b.device.id)
  );
}

const comparisons: Readonly<Record<SortBy, (a: Placed, b: Placed) => number>> = {
  alias: byName,
  lastSeen: (a, b) => byText(b.device.lastSeenAt ?? "", a.device.lastSeenAt ?? "") || byName(a, b),
  board: (a, b) => natural.compare(a.device.board ?? "", b.device.board ?? "") || byName(a, b),
  tools: (a, b) => b.device.toolCount - a.device.toolCount || byName(a, b),
};

/** The sorted ids. */
export function ordered(devices: readonly Device[], sortBy: SortBy): string[] {
  return devices
    .map(placed)
    .sort(comparisons[sortBy])
    .map(({ device }) => device.id);
}
