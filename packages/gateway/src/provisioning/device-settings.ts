import type { Addresses } from "../addresses.ts";
import type { DeviceCredentials } from "./credentials.ts";
import type { OtaSettings } from "./ota.ts";

/** What a device publishes to, and under which user name it signs in: brokers differ. */
interface DeviceMqttSettings {
  settingsFor(
    clientId: string,
    deviceId: string,
  ): { readonly publish_topic: string; readonly username: string };
}

const deviceKeepAliveSeconds = 60;

/** What a device is told to connect with, over either transport. */
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
