/** Updates the records, the events, the toolset and the store as device sessions start, change and end. */

import { Throttle } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import type { DeviceInfo, DeviceSession, Listing, SessionOwner } from "../device/device.ts";
import { type Events, takenOver } from "../events/events.ts";
import type { DevicePersistence } from "./device-persistence.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { Drift } from "./drift/drift.ts";
import type { FirmwareUpgrades } from "./firmware-upgrades.ts";
import { LocalHandle, type LocalHandleDependencies } from "./local-handle.ts";
import type { McpPassthrough } from "./mcp-passthrough.ts";
import { SessionIndex } from "./session-index.ts";
import type { ToolsetChanges } from "./toolset-changes.ts";

export interface ConnectionsDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly persistence: DevicePersistence;
  readonly toolset: ToolsetChanges;
  readonly drift: Drift;
  readonly passthrough: McpPassthrough;
  /** The dependencies of the handles of this node's devices. */
  readonly local: LocalHandleDependencies;
  readonly upgrades: FirmwareUpgrades;
  /** Finds the device of this id or creates it. */
  readonly recordOf: (id: string, kind: DeviceSession["kind"]) => DeviceRecord;
  readonly find: (id: string) => DeviceRecord | undefined;
  /** A device of this node that calls wait for has listed its tools. */
  readonly onListed: (id: string) => void;
}

/** Announces to the other nodes which devices are connected here. */
interface ClusterDirectory {
  claim(handle: LocalHandle): void;
  release(session: DeviceSession): void;
}

/** More takeovers than a board causes by losing its network or restarting suggest two devices with the same id. */
const takeOvers = { atOnce: 3, everyMs: 60_000 };

export class Connections implements SessionOwner {
  readonly sessionIds = new SessionIndex();
  readonly #dependencies: ConnectionsDependencies;
  readonly #takeOvers: Throttle;
  #cluster: ClusterDirectory | undefined;

  constructor(dependencies: ConnectionsDependencies) {
    this.#dependencies = dependencies;
    this.#takeOvers = new Throttle(dependencies.clock, {
      burst: takeOvers.atOnce,
      everyMs: takeOvers.everyMs,
    });
  }

  joinCluster(cluster: ClusterDirectory): void {
    this.#cluster = cluster;
  }

  /** The newest connection of a device wins. Later messages of the old one have no effect [DEV-10]. */
  online(session: DeviceSession): void {
    const record = this.#dependencies.recordOf(session.deviceId, session.kind);
    const old = record.handle;
    if (old?.local?.session === session) {
      record.attach(old);
      this.#cluster?.claim(old.local);
      return;
    }
    const handle = new LocalHandle(session, record, this.#dependencies.local);
    record.attach(handle);
    this.#dependencies.passthrough.connected(record.id, handle);
    this.sessionIds.add(session);
    this.#dependencies.toolset.connected(record.id);
    this.#cluster?.claim(handle);
    if (!session.hasTools) void this.#dependencies.persistence.save(record);
    this.#dependencies.persistence.seen(record, session.connectedAt, session.transport);
    if (old !== undefined) {
      this.#countTakeOver(record.id);
      // If another node holds the old connection, it closes it when it sees the new claim.
      old.local?.session.close(1001, takenOver);
      this.#dependencies.events.deviceOffline(record.id, takenOver);
    }
    this.#dependencies.events.deviceOnline(record.id, {
      transport: session.transport,
      alias: record.alias,
      mcp: session.hasTools,
      sessionId: session.sessionId,
    });
  }

  initialised(session: DeviceSession, info: DeviceInfo): void {
    const record = this.#current(session);
    if (record === undefined) return;
    const { alias, board } = record;
    const changed = record.identify(info);
    this.#dependencies.upgrades.connected(record.id, info.firmware);
    if (!changed) return;
    const renamed = record.alias !== alias;
    if (renamed) this.#dependencies.events.deviceNamed(record.id, record.alias);
    if (renamed || record.board !== board) this.#dependencies.toolset.changed(record.id);
    // A new device is saved together with its first tool list, which follows at once.
    if (record.catalogue.size > 0) void this.#dependencies.persistence.saveChange(record, renamed);
  }

  listed(session: DeviceSession, listing: Listing): void {
    const record = this.#current(session);
    if (record === undefined) return;
    const { catalogue } = record;
    const before = catalogue.tools();
    if (record.updateTools(listing)) {
      this.#dependencies.events.toolsChanged(record.id, {
        ...this.#dependencies.drift.listed(record.id, before, catalogue.tools()),
        toolCount: catalogue.size,
        complete: catalogue.complete,
        ...(catalogue.problem === undefined ? {} : { problem: catalogue.problem }),
      });
      void this.#dependencies.persistence.saveWithTools(record);
      this.#dependencies.toolset.changed(record.id);
    } else {
      this.#dependencies.events.toolsUnchanged(record.id, catalogue.size);
    }
    record.listingDone();
    if (record.waitingCalls > 0) this.#dependencies.onListed(record.id);
  }

  sessionRenamed(session: DeviceSession, oldId: string): void {
    this.sessionIds.renamed(session, oldId);
  }

  voiceSessionStarted(session: DeviceSession, id: string): void {
    this.sessionIds.setVoice(session, id);
  }

  offline(session: DeviceSession, reason: string): void {
    this.sessionIds.remove(session);
    this.#cluster?.release(session);
    const record = this.#current(session);
    if (record === undefined) return;
    const now = this.#dependencies.clock.now();
    record.detach(record.requireHandle(), now, reason);
    // It left before its first tool list, with which it would have been saved.
    if (record.catalogue.size === 0) void this.#dependencies.persistence.save(record);
    this.#dependencies.toolset.disconnected(record.id);
    this.#dependencies.persistence.disconnected(record, session.lastSeenAt, now, reason);
    // The broker disconnects the old connection before the new one arrives here.
    if (reason === takenOver) this.#countTakeOver(record.id);
    this.#dependencies.events.deviceOffline(record.id, reason);
  }

  #countTakeOver(device: string): void {
    this.#dependencies.events.connectionReplaced(device, this.#takeOvers.count(device) > 0);
  }

  #current(session: DeviceSession): DeviceRecord | undefined {
    const record = this.#dependencies.find(session.deviceId);
    return record?.handle?.local?.session === session ? record : undefined;
  }
}
