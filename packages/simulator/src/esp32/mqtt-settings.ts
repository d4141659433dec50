/** MQTT settings, with the names of the OTA reply. */
export interface MqttSettings {
  /** `host` or `host:port`; 8883 by default, and TLS on exactly that port. */
  readonly endpoint: string;
  readonly client_id: string;
  readonly username?: string;
  readonly password?: string;
  /** Seconds, 240 by default. */
  readonly keepalive?: number;
  readonly publish_topic: string;
}

export interface MqttOptions extends MqttSettings {
  /** Stock firmware never subscribes; external brokers may deliver only to subscribers. */
  readonly subscribe?: string;
  /** Wait for the broker to accept, 10 s. */
  readonly connectMs?: number;
  /** Trusted instead of the public authorities. */
  readonly ca?: string | Buffer;
  /** No certificate check, as on cellular modems. */
  readonly insecureTls?: boolean;
}

export interface MqttAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

const tlsPort = 8883;
const defaultKeepalive = 240;
/** Defaults of the MQTT library on the device. */
const emptyKeepalive = 120;

/** Undefined if the firmware's number parser would crash. */
export function parseEndpoint(endpoint: string): MqttAddress | undefined {
  const colon = endpoint.indexOf(":");
  if (colon < 0) return { host: endpoint, port: tlsPort, tls: true };
  const digits = /^\s*[+-]?(\d+)/.exec(endpoint.slice(colon + 1))?.[1];
  if (digits === undefined) return undefined;
  const port = Number(digits);
  return { host: endpoint.slice(0, colon), port, tls: port === tlsPort };
}

export function keepaliveSeconds(settings: MqttSettings): number {
  const seconds = Math.trunc(settings.keepalive ?? defaultKeepalive);
  return seconds >= 1 && seconds <= 65_535 ? seconds : emptyKeepalive;
}
