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
  deliver(topic: string, payload: string): void;
  close(): void;
}

/** The permissions and handlers of an admitted app. */
export interface App {
  readonly maySee: (topic: string) => boolean;
  /** Called when the connection is ready. The returned function is called when it has ended. */
  readonly connected: (connection: AppConnection) => () => void;
  readonly published: (topic: string, payload: Buffer) => void;
}
