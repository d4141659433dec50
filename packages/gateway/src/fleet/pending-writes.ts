import type { StoredDevice } from "../store/store.ts";

/** A device to save, with the fields that have changed; `undefined` for a device that was never saved. */
export interface PendingWrites {
  readonly row: StoredDevice;
  readonly changed: readonly (keyof StoredDevice)[] | undefined;
}

/** All but the id and the presence, which is saved separately. */
const compared = [
  "kind",
  "clientIdHash",
  "alias",
  "aliasChosen",
  "tags",
  "board",
  "firmware",
  "protocolVersion",
  "transportSetting",
  "approval",
  "serial",
  "sealedKey",
  "generation",
  "createdAt",
  "lapsesAt",
] as const satisfies readonly (keyof StoredDevice)[];

export function differing(row: StoredDevice, saved: StoredDevice): readonly (keyof StoredDevice)[] {
  return compared.filter((field) =>
    field === "tags" ? row.tags.join("\n") !== saved.tags.join("\n") : row[field] !== saved[field],
  );
}
