import type { Answer } from "./http-client.ts";
import type { Fields } from "./raw-device.ts";
import type { Site, SiteOptions } from "./site.ts";

/** What a scenario needs of a device's connection, whatever carries it. */
export interface DeviceWire {
  sendText(text: string): void;
  sendBinary(bytes: Uint8Array): void;
  /** The next text the gateway sends, in order. */
  nextText(): Promise<string>;
  /** Texts that have come and were not taken yet. */
  readonly untaken: readonly string[];
  /** Gone without a word, as when the power fails. */
  cut(): void;
  /** A farewell, as far as the transport has one. */
  close(): void;
  /** How the connection ended; `code` where the transport has such a thing. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface DeviceClaim {
  readonly deviceId: string;
  readonly clientId: string;
  readonly token?: string | undefined;
  /** Answers pings of the transport itself; some firmware does not. */
  readonly pongs?: boolean | undefined;
}

/** One way for devices to reach a gateway. */
export interface DeviceTransport {
  readonly name: string;
  /** What the server's hello says in `transport`. */
  readonly helloTransport: string;
  /** What REST calls it. */
  readonly restName: string;
  /** Whether a device is there only after its hello; otherwise it is as soon as it is connected. */
  readonly beginsWithHello: boolean;
  /** What `ended` tells when the gateway sends a device away; 0 where the transport has no word for it. */
  readonly sentAwayCode: number;
  connect(gatewayUrl: string, claim: DeviceClaim): Promise<DeviceWire>;
  /** The door that calls come in by; REST where it is left out. */
  readonly callDoor?: CallDoor;
  /** Where devices and callers meet; one gateway of the test's own where it is left out. */
  readonly openSite?: (options: SiteOptions) => Promise<Site>;
}

/** A call by another door than REST, with an answer in the shape of REST. */
export type CallDoor = (
  site: Site,
  device: string,
  tool: string,
  args: Fields,
  more: Fields,
) => Promise<Answer>;
