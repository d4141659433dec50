/**
 * One page of devices in the order of a column. It keeps only the rows that may be on the page, so that a page costs one
 * pass over the fleet and not a sort of it. The cursor has the value and the id of the last row: a device that changes
 * its place between two pages neither repeats nor hides the others.
 */
import type { Device, DeviceList, DeviceOrder, DeviceSortKey } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

type Value = string | number | null;

interface Row {
  readonly value: Value;
  readonly id: string;
}

/** Longer values are compared by their beginning, so that a cursor stays short. */
const maxLength = 64;

const values: Readonly<Record<DeviceSortKey, (device: Device) => Value>> = {
  alias: ({ alias }) => alias,
  board: ({ board }) => board?.slice(0, maxLength) ?? null,
  transport: ({ transport }) => transport,
  tools: ({ toolCount }) => toolCount,
  battery: ({ vitals }) => vitals?.battery?.level ?? null,
  // A device that is online was seen now.
  lastSeen: ({ online, lastSeenAt }) => (online ? "online" : lastSeenAt),
};

export function sortedPage(
  devices: Iterable<Device>,
  order: DeviceOrder,
  limit: number,
  cursor: string | undefined,
): DeviceList {
  const descending = order.startsWith("-");
  const read = values[(descending ? order.slice(1) : order) as DeviceSortKey];
  const compare = (a: Row, b: Row) => compareValues(a.value, b.value, descending) || compareText(a.id, b.id);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  let rows: (Row & { readonly device: Device })[] = [];
  const cut = () => {
    rows = rows.sort(compare).slice(0, limit + 1);
  };
  for (const device of devices) {
    const row = { device, value: read(device), id: device.id };
    if (after !== undefined && compare(row, after) <= 0) continue;
    rows.push(row);
    if (rows.length >= 4 * (limit + 1)) cut();
  }
  cut();
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    devices: page.map(({ device }) => device),
    ...(last === undefined ? {} : { nextCursor: writeCursor(last) }),
  };
}

/** Devices without a value come last in both directions. */
function compareValues(a: Value, b: Value, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const compared = typeof a === "number" && typeof b === "number" ? a - b : compareText(String(a), String(b));
  return descending ? -compared : compared;
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function writeCursor({ value, id }: Row): string {
  return Buffer.from(JSON.stringify([value, id])).toString("base64url");
}

function readCursor(cursor: string): Row {
  try {
    const [value, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [unknown, unknown];
    const known = value === null || typeof value === "string" || typeof value === "number";
    if (known && typeof id === "string") return { value, id };
  } catch {
    // Reported below.
  }
  throw new TendonError("bad_request", "the cursor does not belong to this order");
}
