/**
 * The order of devices. Names are sorted naturally: `lamp-2` before `lamp-10`. Ids are sorted as text, and so is the end
 * of the id in a generated alias: `0a`, `10`, `1f`. Devices without a value come last in both directions.
 */
import { type Device, type DeviceOrder, type DeviceSortKey, deviceSortKeys } from "@tendon/protocol";

export interface Order {
  readonly by: DeviceSortKey;
  readonly descending: boolean;
}

export const defaultOrder: Order = { by: "alias", descending: false };

/** Newest and most first, where that is what people look for. */
const descendingFirst: ReadonlySet<DeviceSortKey> = new Set(["tools", "lastSeen"]);

/** The order after a click on a column: its usual direction, then the other one. */
export function nextOrder(order: Order, by: DeviceSortKey): Order {
  return { by, descending: order.by === by ? !order.descending : descendingFirst.has(by) };
}

/** As in an address and in `GET /devices`: `alias`, or `-lastSeen` for the descending order. */
export function writeOrder({ by, descending }: Order): DeviceOrder {
  return descending ? `-${by}` : by;
}

export function readOrder(text: string): Order | undefined {
  const descending = text.startsWith("-");
  const by = deviceSortKeys.find((key) => key === (descending ? text.slice(1) : text));
  return by && { by, descending };
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

/** What a column compares; `undefined` if the device has no such value. */
const values: Readonly<
  Record<Exclude<DeviceSortKey, "alias">, (device: Device) => string | number | null | undefined>
> = {
  board: ({ board }) => board,
  transport: ({ transport }) => transport,
  tools: ({ toolCount }) => toolCount,
  battery: ({ vitals }) => vitals?.battery?.level,
  // A device that is online was seen now.
  lastSeen: ({ online, lastSeenAt }) => (online ? "online" : lastSeenAt),
};

function comparison({ by, descending }: Order): (a: Placed, b: Placed) => number {
  const way = descending ? -1 : 1;
  if (by === "alias") return (a, b) => way * byName(a, b);
  const readValue = values[by];
  return (a, b) => {
    const [one, other] = [readValue(a.device) ?? undefined, readValue(b.device) ?? undefined];
    if (one === undefined || other === undefined)
      return one === other ? byName(a, b) : one === undefined ? 1 : -1;
    const compared =
      typeof one === "number" && typeof other === "number"
        ? one - other
        : by === "lastSeen"
          ? byText(String(one), String(other))
          : natural.compare(String(one), String(other));
    return way * compared || byName(a, b);
  };
}

/** The sorted ids. */
export function ordered(devices: readonly Device[], order: Order): string[] {
  return devices
    .map(placed)
    .sort(comparison(order))
    .map(({ device }) => device.id);
}
