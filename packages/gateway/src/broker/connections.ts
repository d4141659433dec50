/** What a client says of itself in CONNECT. The password is compared and forgotten, never kept or logged. */
export interface BrokerClaim {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly from: string | undefined;
}

/** Takes over a device's connection once it stands. */
export type OpenDevice = (connection: DeviceConnection) => DeviceListener;

/** A device that is connected: what the device room makes a link of. */
export interface DeviceConnection {
  /** False when the device does not read, or is gone. */
  push(text: string): boolean;
  /** `code`: why, as a WebSocket's Close frame would say it. */
  close(code: number): void;
}

/** Who receives what a device says. */
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

/** What an admitted app may do, and who hears of it. */
export interface App {
  readonly maySee: (topic: string) => boolean;
  /** Told once the connection stands; the function it gives is called when it is over. */
  readonly connected: (connection: AppConnection) => () => void;
  readonly published: (topic: string, payload: Buffer) => void;
}
