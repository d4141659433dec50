import type { IPublishPacket } from "mqtt-packet";

/** The identity that a client claims in CONNECT. The password is only compared, never stored or logged. */
export interface BrokerClaim {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly from: string | undefined;
}

/** Called with a device's connection when it is ready. */
export type OpenDevice = (connection: DeviceConnection) => DeviceListener;

/** A connected device. The device module makes a link of it. */
export interface DeviceConnection {
  /** Returns false if the device does not read or has disconnected. */
  push(text: string): boolean;
  /** `code`: the reason, as a WebSocket close code. */
  close(code: number): void;
}

/** Receives the messages of a device. */
export interface DeviceListener {
  message(payload: Buffer): void;
  alive(): void;
  closed(reason: string): void;
}

/** An app's connection. The same app (token) may have several. */
export interface AppConnection {
  /** Delivers to this connection alone, if it has subscribed to the topic. */
  deliver(topic: string, payload: string, correlationData?: Buffer): void;
  close(): void;
}

/** The permissions and handlers of an admitted app. */
export interface App {
  readonly maySee: (topic: string) => boolean;
  /** Called when the connection is ready. The returned function is called when it has ended. */
  readonly connected: (connection: AppConnection) => () => void;
  readonly published: (topic: string, payload: Buffer, properties: RequestProperties) => void;
  /** The reason why no message to this topic has an effect; `undefined` if it is the topic of a request. */
  readonly rejection: (topic: string) => string | undefined;
}

/** The properties of MQTT 5 that a request may have. */
export interface RequestProperties {
  /** The topic of the reply, instead of the usual one. */
  readonly responseTopic?: string | undefined;
  /** Returned with the reply. */
  readonly correlationData?: Buffer | undefined;
  /** For how long the request is of use. */
  readonly expiresInMs?: number | undefined;
}

const none: RequestProperties = {};

export function readProperties(properties: IPublishPacket["properties"]): RequestProperties {
  if (properties === undefined) return none;
  // The parser returns a list for a property that is repeated, which MQTT forbids.
  const { responseTopic, correlationData, messageExpiryInterval } = properties;
  return {
    responseTopic: typeof responseTopic === "string" ? responseTopic : undefined,
    correlationData: Buffer.isBuffer(correlationData) ? correlationData : undefined,
    expiresInMs: typeof messageExpiryInterval === "number" ? messageExpiryInterval * 1_000 : undefined,
  };
}

/** The root of topics for replies that an app may choose freely. */
export const responseRoot = "tendon/reply/";
