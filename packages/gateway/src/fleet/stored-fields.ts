/** What a record takes from its stored row. */
import type { DeviceSession } from "../device/device.ts";
import type { StoredDevice } from "../store/store.ts";

const programKinds = ["process", "http", "endpoint"] as const;

export function kindOf(stored: StoredDevice): DeviceSession["kind"] {
  return programKinds.find((kind) => kind === stored.kind) ?? "esp32";
}

/** The kind of a device whose record this node does not have yet. */
export function kindOfTransport(transport: unknown): DeviceSession["kind"] {
  if (transport === "http" || transport === "endpoint") return transport;
  return transport === "stdio" ? "process" : "esp32";
}

/** A device seen after its last recorded disconnect was online when the previous run of the gateway was killed. */
export function lastDisconnectOf({
  lastSeenAt,
  lastDisconnectAt: at,
  lastDisconnectReason: reason = "",
}: StoredDevice) {
  if (lastSeenAt !== undefined && lastSeenAt > (at ?? 0)) {
    return { at: lastSeenAt, reason: "the gateway ended unexpectedly" };
  }
  return at === undefined ? undefined : { at, reason };
}

/** The fields that people and provisioning change, on any node. */
export function adminFields(stored: StoredDevice) {
  const { alias, aliasChosen, tags, transportSetting, approval, clientIdHash, generation, lapsesAt } = stored;
  return { alias, aliasChosen, tags, transportSetting, approval, clientIdHash, generation, lapsesAt };
}
