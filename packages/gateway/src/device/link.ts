/** One connection to one device, over any transport. Frames arrive through the session's `receive…` methods. */
export interface DeviceLink {
  readonly transport: "websocket" | "mqtt" | "stdio";
  /** False if the frame was not accepted: the connection has ended, or the device does not read. */
  send(text: string): boolean;
  /** Pings the other end, if the transport can. */
  ping(): void;
  close(code: number, reason: string): void;
  /** Set if audio uses the same connection as the texts. */
  readonly audio?: AudioChannel;
}

export interface AudioChannel {
  /** `sent` is called when the frame was written. Returns false if it was not accepted. */
  send(frame: Uint8Array, sent: () => void): boolean;
}

/** The identity of the device, established before the first frame is read. */
export interface DeviceIdentity {
  readonly deviceId: string;
  readonly clientId: string | undefined;
}
