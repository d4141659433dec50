/** The connection to the broker. The composition root hands in the client of the broker module. */
export interface BrokerConnection {
  readonly connected: boolean;
  readonly version: string;
  publish(
    topic: string,
    payload: string | Buffer,
    options: { readonly qos: 0 | 1; readonly retain: boolean },
    done?: (error?: Error) => void,
  ): boolean;
  subscribe(filters: readonly string[], qos: 0 | 1): void;
  unsubscribe(filters: readonly string[]): void;
  stop(politely?: boolean): Promise<void>;
}

export interface BrokerListener {
  connected(): void;
  closed(wasConnected: boolean): void;
  error(message: string): void;
  message(topic: string, payload: Buffer, packet: IncomingPacket): void;
}

export interface IncomingPacket {
  readonly retain: boolean;
  readonly properties?: { readonly messageExpiryInterval?: number } | undefined;
}
