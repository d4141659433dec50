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
  /** All that a new device knows: it asks there at every boot how to connect. Instead of the addresses above. */
  readonly otaUrl?: string;
  /** For all its connections, but those of a `transport` of one's own. */
  readonly tls?: TlsTrust;
  readonly faults?: readonly Fault[];
  /** Real devices connect when they are woken; virtual ones keep their connection unless this is false. */
  readonly autoReconnect?: boolean;
  /** Whether it comes back after a reboot or a crash; as `autoReconnect` by default. */
  readonly returnAfterReboot?: boolean;
  /** Over MQTT about 10 s by default, as the library on the device. */
  readonly backoff?: BackoffOptions;
  readonly timing?: DeviceTiming;
  readonly http?: DeviceHttp;
  /** Replaces the drawn picture of the screen; undefined means that the camera failed. */
  readonly picture?: (quality: number) => Promise<Buffer | undefined>;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Waits for permission to dial; the function it gives ends the permission. */
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
