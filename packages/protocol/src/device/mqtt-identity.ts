import { clientIdMark, isClientId, normaliseDeviceId } from "./identity.ts";

/** [MQT-1] The identity of a device over MQTT, from its client id: `GROUP@@@aa_bb_cc_dd_ee_ff@@@uuid`. */
export interface MqttIdentity {
  readonly group: string;
  readonly deviceId: string;
  readonly clientId: string;
}

const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;
const usualMac = /^[0-9a-f]{2}(?:_[0-9a-f]{2}){5}$/;
const group = /^[A-Za-z0-9_-]{1,32}$/;

/** `undefined` unless there are exactly three valid parts, so that a missing part never skips a check. */
export function readMqttClientId(text: string): MqttIdentity | undefined {
  const parts = text.split(clientIdMark);
  const [groupName = "", device = "", clientId = ""] = parts;
  const deviceId = usualMac.test(device) ? device.replaceAll("_", ":") : normaliseDeviceId(device);
  if (parts.length !== 3 || !group.test(groupName) || deviceId === undefined || !isClientId(clientId))
    return undefined;
  return { group: groupName, deviceId, clientId };
}

export function makeMqttClientId({ group: groupName, deviceId, clientId }: MqttIdentity): string {
  // Other ids are not changed, because in them `_` and `:` are different characters.
  const device = MAC.test(deviceId) ? deviceId.replaceAll(":", "_") : deviceId;
  return [groupName, device, clientId].join(clientIdMark);
}
