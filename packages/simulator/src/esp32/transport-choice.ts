import { DeviceOptionError } from "../errors.ts";
import type { VirtualDeviceOptions } from "./device-options.ts";
import { mqttTransport } from "./mqtt-transport.ts";
import type { TransportFactory } from "./transport.ts";
import { webSocketTransport } from "./websocket-transport.ts";

/** Undefined where nothing but the configuration address is known, or nothing at all. */
export function transportOf(options: VirtualDeviceOptions): TransportFactory | undefined {
  const { url, token, mqtt, transport, otaUrl, tls } = options;
  if (otaUrl !== undefined && (url !== undefined || mqtt !== undefined || transport !== undefined)) {
    throw new DeviceOptionError("a device that asks otaUrl for its address cannot be given another");
  }
  if (transport !== undefined) return transport;
  if (mqtt !== undefined) return mqttTransport({ ...tls, ...mqtt });
  return url === undefined
    ? undefined
    : webSocketTransport({ ...tls, url, ...(token === undefined ? {} : { token }) });
}
