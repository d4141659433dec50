/** What the embedded broker keeps of its connections, and of the clients that have signed in. */
import type { Client } from "aedes";
import type { Timer } from "../clock.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import type { App, DeviceListener, OpenDevice, RequestProperties } from "./connections.ts";
import type { FilterTree } from "./filter-tree.ts";
import type { RetainedMessages } from "./retained-messages.ts";

export interface OpenSocket {
  readonly from: string | undefined;
  readonly gate: ConnectionGate;
  readonly signInDeadline: Timer;
  /** Set when the client signs in. */
  client: Client | undefined;
}

export interface DevicePeer {
  readonly kind: "device";
  readonly clientId: string;
  readonly open: OpenDevice;
  listener: DeviceListener | undefined;
  /** Messages between the CONNACK and the broker's ready event: a board sends its hello at once. */
  readonly early: Buffer[];
  /** A newer connection of the same device was admitted. */
  displaced: boolean;
}

export interface AppPeer {
  readonly kind: "app";
  readonly client: Client;
  readonly app: App;
  /** The filters of the app's subscriptions, each with its subscription identifier. */
  readonly filters: Map<string, number | undefined>;
  /** The subscription identifiers again, to find those of a topic. */
  readonly identifiers: FilterTree<number>;
  readonly retained: RetainedMessages;
  disconnected: (() => void) | undefined;
  /** Requests before the ready event, as with devices. */
  readonly early: {
    readonly topic: string;
    readonly bytes: Buffer;
    readonly properties: RequestProperties;
  }[];
}
