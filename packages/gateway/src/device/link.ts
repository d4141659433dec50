/** One connection to one device, whatever carries it. Frames go in through the session's `receive…` methods. */
export interface DeviceLink {
  readonly transport: "websocket" | "mqtt" | "stdio";
  /** False when the frame could not be taken: the connection is gone or the device does not read. */
  send(text: string): boolean;
  /** Asks the other end for a sign of life below the protocol, where the transport can. */
  ping(): void;
  close(code: number, reason: string): void;
  /** Where audio travels on the same connection as the texts. */
  readonly audio?: AudioLane;
}

export interface AudioLane {
  /** `sent` is called when the frame has left; false when it could not be taken. */
  send(frame: Uint8Array, sent: () => void): boolean;
}

/** Who is at the other end, as established before the first frame is looked at. */
export interface DeviceIdentity {
  readonly deviceId: string;
  readonly clientId: string | undefined;
}
