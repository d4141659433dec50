import type { StoredDevice } from "../store/store.ts";

/** A device to save, with the fields that have changed; `undefined` for a device that was never saved. */
export interface PendingWrites {
  readonly row: StoredDevice;
  readonly changed: readonly (keyof StoredDevice)[] | undefined;
}

export function differing(row: Partial<StoredDevice>, writtenText: string): (keyof StoredDevice)[] {
  const written = JSON.parse(writtenText) as Partial<StoredDevice>;
  // Safe: every key is one of the row's own.
  const fields = Object.keys(row) as (keyof StoredDevice)[];
  return fields.filter((field) => JSON.stringify(row[field]) !== JSON.stringify(written[field]));
}
