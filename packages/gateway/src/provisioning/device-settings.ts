import type { Addresses } from "../addresses.ts";
import type { DeviceCredentials } from "./credentials.ts";
import type { OtaSettings } from "./ota.ts";

/** The publish topic and the user name of a device, which depend on the broker. */
interface DeviceMqttSettings {
  settingsFor(
    clientId: string,
    deviceId: string,
  ): { readonly publish_topic: string; readonly username: string };
}

const deviceKeepAliveSeconds = 60;

/** The connection settings of a device, for both transports. */
export function deviceSettings(
  made: DeviceCredentials,
  mqtt: DeviceMqttSettings,
  addresses: Addresses,
): Required<OtaSettings> {
  const { clientId, password } = made.mqtt;
  return {
    websocket: { url: addresses.deviceWebSocket, token: made.token, version: 1 },
    mqtt: {
      endpoint: addresses.deviceMqtt,
      client_id: clientId,
      password,
      ...mqtt.settingsFor(clientId, made.deviceId),
      keepalive: deviceKeepAliveSeconds,
    },
  };
}
