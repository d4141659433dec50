import type { Clock } from "../clock.ts";
import type { BackoffOptions } from "./backoff.ts";
import type { BoardOptions } from "./board.ts";
import type { Fault } from "./fault.ts";
import type { DeviceHttp } from "./http.ts";
import type { MqttOptions } from "./mqtt-settings.ts";
import type { TransportFactory } from "./transport.ts";

export interface VirtualDeviceOptions {
  readonly board?: BoardOptions;
  /** WebSocket address of the server; shorthand for `transport: webSocketTransport({ url, token })`. */
  readonly url?: string;
  readonly token?: string;
  /** Broker and credentials; shorthand for `transport: mqttTransport(…)`. */
  readonly mqtt?: MqttOptions;
  readonly transport?: TransportFactory;
  /** The OTA address, instead of the addresses above: the device requests its settings there at every boot. */
  readonly otaUrl?: string;
  /** For all connections except those of a custom `transport`. */
  readonly tls?: TlsTrust;
  readonly faults?: readonly Fault[];
  /** Real devices connect on demand; virtual ones keep their connection unless this is false. */
  readonly autoReconnect?: boolean;
  /** Whether it comes back after a reboot or a crash; as `autoReconnect` by default. */
  readonly returnAfterReboot?: boolean;
  /** Over MQTT about 10 s by default, like the library on the device. */
  readonly backoff?: BackoffOptions;
  readonly timing?: DeviceTiming;
  readonly http?: DeviceHttp;
  /** Replaces the generated image of the screen; undefined means that the camera failed. */
  readonly picture?: (quality: number) => Promise<Buffer | undefined>;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Waits for permission to connect; the returned function releases it. */
  readonly dialGate?: () => Promise<() => void>;
}

export interface TlsTrust {
  /** Trusted instead of the public authorities. */
  readonly ca?: string | Buffer;
  /** No certificate check, as on cellular modems. */
  readonly insecureTls?: boolean;
}

interface DeviceTiming {
  /** Wait for the server's hello, 10 s. */
  readonly helloWaitMs?: number;
  /** From the order to reboot until the connection drops, 1 s. */
  readonly rebootDelayMs?: number;
  /** From the drop until the device is back, 2 s. */
  readonly bootMs?: number;
}
