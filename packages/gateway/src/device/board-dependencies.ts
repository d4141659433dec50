import type { JsonObject } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Events } from "../events/events.ts";
import type { SessionOwner } from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import type { KnownResults } from "./known-results.ts";
import type { DeviceIdentity } from "./link.ts";
import type { UdpAddress } from "./udp-sink.ts";
import type { VoiceService } from "./voice-service.ts";

/** What the sessions of all boards share. */
export interface BoardDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly firstRequestId: () => number;
  readonly queueLimit: number;
  /** Merged into `initialize`. Read each time, because the value can change while the gateway runs. */
  readonly capabilities: () => JsonObject;
  /** The UDP address for this device's audio, for transports that do not carry audio on the connection. */
  readonly audioAddress: () => UdpAddress;
  /** Called at every hello. Returns false if another board has the identity now. */
  readonly confirm: (identity: DeviceIdentity) => boolean;
  readonly newSessionId: () => string;
  readonly frames: Pick<FrameLog, "record">;
  readonly knownResults: KnownResults;
  /** `undefined` if no voice server is configured. */
  readonly voice: VoiceService | undefined;
}
