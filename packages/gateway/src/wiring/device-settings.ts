import type { Addresses } from "../addresses.ts";
import type { OtaSettings } from "../device/device.ts";
import type { DeviceCredentials } from "../provisioning/provisioning.ts";
import type { MqttCarrier } from "./mqtt-carrier.ts";

const deviceKeepAliveSeconds = 60;

/** What a device is told to connect with, over either transport. */
export function deviceSettings(
  made: DeviceCredentials,
  mqtt: MqttCarrier,
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
