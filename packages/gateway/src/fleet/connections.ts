/** Sessions of devices as they come and go: what each says is kept, told and remembered. */

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
import type { ToolsetChanges } from "./toolset-changes.ts";

export interface ConnectionsNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly persistence: DevicePersistence;
  readonly toolset: ToolsetChanges;
  readonly drift: Drift;
  readonly passthrough: McpPassthrough;
  /** What handles of devices of this node are made with. */
  readonly local: LocalHandleDependencies;
  readonly upgrades: FirmwareUpgrades;
  /** The device of this id, made where there was none. */
  readonly recordOf: (id: string, kind: DeviceSession["kind"]) => DeviceRecord;
  readonly find: (id: string) => DeviceRecord | undefined;
}

/** Other nodes are told which devices are here. */
interface Others {
  hold(handle: LocalHandle): void;
  release(session: DeviceSession): void;
}

/** A board that lost its network or was restarted takes over from itself so often, at most. */
const takeOvers = { atOnce: 3, everyMs: 60_000 };

export class Connections implements SessionOwner {
  readonly #needs: ConnectionsNeeds;
  readonly #bySession = new Map<string, string>();
  readonly #takeOvers: Throttle;
  #others: Others | undefined;

  constructor(needs: ConnectionsNeeds) {
    this.#needs = needs;
    this.#takeOvers = new Throttle(needs.clock, { burst: takeOvers.atOnce, everyMs: takeOvers.everyMs });
  }

  shareWith(others: Others): void {
    this.#others = others;
  }

  /** The device whose session has this id now. */
  deviceOf(sessionId: string): string | undefined {
    return this.#bySession.get(sessionId);
  }

  /** The newest connection of a device wins; what the old one still says touches nothing [DEV-10]. */
  greeted(session: DeviceSession): void {
    const record = this.#needs.recordOf(session.deviceId, session.kind);
    const old = record.handle;
    if (old?.local?.session === session) {
      record.attach(old);
      this.#others?.hold(old.local);
      return;
    }
    const handle = new LocalHandle(session, record, this.#needs.local);
    record.attach(handle);
    this.#needs.passthrough.connected(record.id, handle);
    this.#bySession.set(session.sessionId, record.id);
    this.#needs.toolset.came(record.id);
    this.#others?.hold(handle);
    if (!session.hasTools) void this.#needs.persistence.device(record);
    this.#needs.persistence.seen(record, session.connectedAt, session.transport);
    if (old !== undefined) {
      this.#tookOver(record.id);
      // A node that held the old one closes it, when it learns of the new one.
      old.local?.session.close(1001, takenOver);
      this.#needs.events.deviceOffline(record.id, takenOver);
    }
    this.#needs.events.deviceOnline(record.id, {
      transport: session.transport,
      alias: record.alias,
      mcp: session.hasTools,
    });
  }

  initialised(session: DeviceSession, info: DeviceInfo): void {
    const record = this.#current(session);
    if (record === undefined) return;
    const { alias, board } = record;
    record.identify(info);
    this.#needs.upgrades.connected(record.id, info.firmware);
    const renamed = record.alias !== alias;
    if (renamed) this.#needs.events.deviceNamed(record.id, record.alias);
    if (renamed || record.board !== board) this.#needs.toolset.changed(record.id);
    // Its first list follows at once and is written together with it.
    if (record.catalogue.size > 0) void this.#needs.persistence.changed(record, renamed);
  }

  listed(session: DeviceSession, listing: Listing): void {
    const record = this.#current(session);
    if (record === undefined) return;
    const { catalogue } = record;
    const before = catalogue.tools();
    if (catalogue.update(listing)) {
      this.#needs.events.toolsChanged(record.id, {
        ...this.#needs.drift.listed(record.id, before, catalogue.tools()),
        toolCount: catalogue.size,
        complete: catalogue.complete,
        ...(catalogue.problem === undefined ? {} : { problem: catalogue.problem }),
      });
      void this.#needs.persistence.withTools(record);
      this.#needs.toolset.changed(record.id);
    } else {
      this.#needs.events.toolsUnchanged(record.id, catalogue.size);
    }
    record.listingDone();
  }

  sessionRenamed(session: DeviceSession, oldId: string): void {
    this.#bySession.delete(oldId);
    if (this.#current(session) !== undefined) this.#bySession.set(session.sessionId, session.deviceId);
  }

  offline(session: DeviceSession, reason: string): void {
    this.#bySession.delete(session.sessionId);
    this.#others?.release(session);
    const record = this.#current(session);
    if (record === undefined) return;
    const now = this.#needs.clock.now();
    record.detach(record.requireHandle(), now, reason);
    this.#needs.toolset.left(record.id);
    this.#needs.persistence.left(record, session.lastSeenAt, now, reason);
    // The broker has parted from the old one before the new one gets here.
    if (reason === takenOver) this.#tookOver(record.id);
    this.#needs.events.deviceOffline(record.id, reason);
  }

  #tookOver(device: string): void {
    this.#needs.events.connectionReplaced(device, this.#takeOvers.count(device) > 0);
  }

  #current(session: DeviceSession): DeviceRecord | undefined {
    const record = this.#needs.find(session.deviceId);
    return record?.handle?.local?.session === session ? record : undefined;
  }
}
