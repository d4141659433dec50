import { flag, fromJson, optional, toJson } from "./codec.ts";
import type { DevicesTable } from "./tables.ts";

type DeviceApproval = "approved" | "pending" | "revoked";

/** A device as it is stored. */
export interface StoredDevice {
  readonly id: string;
  readonly kind: string;
  /** A digest of the Client-Id. The Client-Id is a credential and is never stored. */
  readonly clientIdHash: string | undefined;
  readonly alias: string;
  /** A person chose the alias, so the gateway no longer derives it from the board. */
  readonly aliasChosen: boolean;
  readonly tags: readonly string[];
  readonly board: string | undefined;
  readonly firmware: string | undefined;
  readonly protocolVersion: string | undefined;
  /** The transport of its last connection. */
  readonly transport: string | undefined;
  /** The transport to offer, if it differs from `devices.transport`. */
  readonly transportSetting: string | undefined;
  readonly approval: DeviceApproval;
  readonly serial: string | undefined;
  /** The key for the serial's challenge. The caller encrypts it. */
  readonly sealedKey: string | undefined;
  /** The valid generation of the pair's credentials. Increasing it invalidates the earlier ones. */
  readonly generation: number;
  readonly createdAt: number;
  /** When unused credentials expire. */
  readonly lapsesAt: number | undefined;
  readonly lastSeenAt: number | undefined;
  readonly lastDisconnectAt: number | undefined;
  readonly lastDisconnectReason: string | undefined;
}

export function readDevice(row: DevicesTable): StoredDevice {
  return {
    id: row.id,
    kind: row.kind,
    clientIdHash: optional(row.client_id_hash),
    alias: row.alias,
    aliasChosen: row.alias_chosen === 1,
    tags: row.tags === "[]" ? [] : fromJson<string[]>(row.tags),
    board: optional(row.board),
    firmware: optional(row.firmware),
    protocolVersion: optional(row.protocol_version),
    transport: optional(row.transport),
    transportSetting: optional(row.transport_setting),
    // Safe: only `writeDevice` fills this column.
    approval: row.approval as DeviceApproval,
    serial: optional(row.serial),
    sealedKey: optional(row.sealed_key),
    generation: row.generation,
    createdAt: row.created_at,
    lapsesAt: optional(row.lapses_at),
    lastSeenAt: optional(row.last_seen_at),
    lastDisconnectAt: optional(row.last_disconnect_at),
    lastDisconnectReason: optional(row.last_disconnect_reason),
  };
}

export function writeDevice(device: StoredDevice): DevicesTable {
  return {
    id: device.id,
    kind: device.kind,
    client_id_hash: device.clientIdHash ?? null,
    alias: device.alias,
    alias_chosen: flag(device.aliasChosen),
    tags: toJson(device.tags),
    board: device.board ?? null,
    firmware: device.firmware ?? null,
    protocol_version: device.protocolVersion ?? null,
    transport: device.transport ?? null,
    transport_setting: device.transportSetting ?? null,
    approval: device.approval,
    serial: device.serial ?? null,
    sealed_key: device.sealedKey ?? null,
    generation: device.generation,
    created_at: device.createdAt,
    lapses_at: device.lapsesAt ?? null,
    last_seen_at: device.lastSeenAt ?? null,
    last_disconnect_at: device.lastDisconnectAt ?? null,
    last_disconnect_reason: device.lastDisconnectReason ?? null,
  };
}

const columns = {
  kind: "kind",
  clientIdHash: "client_id_hash",
  alias: "alias",
  aliasChosen: "alias_chosen",
  tags: "tags",
  board: "board",
  firmware: "firmware",
  protocolVersion: "protocol_version",
  transport: "transport",
  transportSetting: "transport_setting",
  approval: "approval",
  serial: "serial",
  sealedKey: "sealed_key",
  generation: "generation",
  createdAt: "created_at",
  lapsesAt: "lapses_at",
  lastSeenAt: "last_seen_at",
  lastDisconnectAt: "last_disconnect_at",
  lastDisconnectReason: "last_disconnect_reason",
} as const satisfies Record<Exclude<keyof StoredDevice, "id">, keyof DevicesTable>;

/** In the order of `writeDevice`. */
export const columnNames: readonly (keyof DevicesTable)[] = ["id", ...Object.values(columns)];

export function columnNamesOf(fields: readonly (keyof StoredDevice)[]): (keyof DevicesTable)[] {
  return fields.flatMap((field) => (field === "id" ? [] : [columns[field]]));
}

/** The columns of these fields. */
export function columnsOf(row: DevicesTable, fields: readonly (keyof StoredDevice)[]): Partial<DevicesTable> {
  return Object.fromEntries(
    fields.flatMap((field) => (field === "id" ? [] : [[columns[field], row[columns[field]]]])),
  );
}
