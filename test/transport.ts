import type { Answer } from "./http-client.ts";
import type { Fields } from "./raw-device.ts";
import type { Site, SiteOptions } from "./site.ts";

/** A device's connection in scenarios, over any transport. */
export interface DeviceWire {
  sendText(text: string): void;
  sendBinary(bytes: Uint8Array): void;
  /** The next text from the gateway, in order. */
  nextText(): Promise<string>;
  /** Received texts that were not read yet. */
  readonly untaken: readonly string[];
  /** Drops the connection without a message, as in a power failure. */
  cut(): void;
  /** Disconnects with the transport's own message, if it has one. */
  close(): void;
  /** How the connection ended; with `code` if the transport has one. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface DeviceClaim {
  readonly deviceId: string;
  readonly clientId: string;
  readonly token?: string | undefined;
  /** Answers pings of the transport itself; some firmware does not. */
  readonly pongs?: boolean | undefined;
}

/** A transport between devices and the gateway. */
export interface DeviceTransport {
  readonly name: string;
  /** The `transport` in the server's hello. */
  readonly helloTransport: string;
  /** Its name in REST. */
  readonly restName: string;
  /** Whether a device is online only after its hello; otherwise as soon as it is connected. */
  readonly beginsWithHello: boolean;
  /** The close code when the gateway disconnects a device; 0 if the transport has none. */
  readonly sentAwayCode: number;
  connect(gatewayUrl: string, claim: DeviceClaim): Promise<DeviceWire>;
  /** The interface for calls; REST by default. */
  readonly callInterface?: CallInterface;
  /** The gateway for devices and callers; a new one by default. */
  readonly openSite?: (options: SiteOptions) => Promise<Site>;
}

/** A call through another interface than REST, with an answer in REST's format. */
export type CallInterface = (
  site: Site,
  device: string,
  tool: string,
  args: Fields,
  more: Fields,
) => Promise<Answer>;
