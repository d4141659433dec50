import { type Device, type DeviceDetail, defaultAlias, type JsonObject } from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import type { DeviceInfo, DeviceSession, Listing } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { StoredDevice } from "../store/store.ts";
import { Catalogue } from "./catalogue.ts";
import { type CredentialPair, restoredPair, storedPair } from "./credential-pair.ts";
import type { DeviceHandle, Inspection } from "./device-handle.ts";
import type { AssignedName, Names } from "./names.ts";
import { differing, type PendingWrites } from "./pending-writes.ts";
import { adminFields, kindOf, lastDisconnectOf } from "./stored-fields.ts";
import { vitalsOf } from "./vitals.ts";

/** One device, connected or not. */
export class DeviceRecord {
  /** The default deadline of calls to this device; `undefined`: that of all devices. */
  callTimeoutMs: number | undefined;
  readonly id: string;
  readonly kind: DeviceSession["kind"];
  readonly catalogue = new Catalogue();
  /** The queued calls that wait until it is online. */
  waitingCalls = 0;
  /** Its credentials, if it has any. */
  pair: CredentialPair | undefined;
  readonly #names: Names;
  readonly #node: string;
  readonly #createdAt: number;
  /** The row as it was last read or given to the store. */
  #row: StoredDevice | undefined;
  /** Whether the store has that row, or is getting it. */
  #isSaved = false;
  /** The settings that people can change. */
  #settings: Pick<StoredDevice, "aliasChosen" | "tags" | "transportSetting"> = {
    aliasChosen: false,
    tags: [],
    transportSetting: undefined,
  };
  #alias: string;
  #handle: DeviceHandle | undefined;
  #info: DeviceInfo = { protocolVersion: undefined, board: undefined, firmware: undefined };
  #transport: string | undefined;
  #mcp = false;
  #connectedAt: number | undefined;
  #lastSeenAt: number | undefined;
  #lastDisconnect: { at: number; reason: string } | undefined;
  #status: { at: number; value: JsonObject } | undefined;
  /** Resolves when the current connection has listed its tools for the first time, or has ended. */
  #listed: PromiseWithResolve | undefined;

  constructor(id: string, kind: DeviceSession["kind"], names: Names, node: string, createdAt: number) {
    this.id = id;
    this.kind = kind;
    this.#names = names;
    this.#node = node;
    this.#createdAt = createdAt;
    // The id of a program is its alias in the configuration.
    this.#alias = names.takeAlias(id, kind === "esp32" ? defaultAlias("device", id) : id);
  }

  /** The device as the store has it. */
  static restored(stored: StoredDevice, names: Names, node: string): DeviceRecord {
    const record = new DeviceRecord(stored.id, kindOf(stored), names, node, stored.createdAt);
    record.#apply(stored);
    record.#lastDisconnect = lastDisconnectOf(stored);
    record.#mcp = true;
    return record;
  }

  /** Applies what another node has saved. While the device is connected here, only the settings of people change. */
  updateFrom(stored: StoredDevice): void {
    this.#apply(this.isLocal ? { ...this.stored(), ...adminFields(stored) } : stored);
  }

  #apply(stored: StoredDevice): void {
    this.#names.setAlias(stored.id, stored.alias);
    this.#alias = stored.alias;
    this.#row = stored;
    const { aliasChosen, tags, transportSetting } = stored;
    this.#settings = { aliasChosen, tags, transportSetting };
    this.#info = {
      protocolVersion: stored.protocolVersion,
      board: stored.board,
      firmware: stored.firmware,
    };
    this.#transport = stored.transport;
    this.#lastSeenAt = stored.lastSeenAt;
    const { lastDisconnectAt: at, lastDisconnectReason: reason = "" } = stored;
    // The store gets the last disconnect later than the event, so the value here may be newer.
    if (at !== undefined && at >= (this.#lastDisconnect?.at ?? 0)) this.#lastDisconnect = { at, reason };
    this.pair = restoredPair(stored);
    this.takePendingWrites();
  }

  /** The complete row for the store. Without spreading, which would give the object of each device its own layout. */
  stored(): StoredDevice {
    const { approval, clientIdHash, generation, lapsesAt } = storedPair(this.pair);
    return {
      id: this.id,
      kind: this.kind,
      clientIdHash,
      alias: this.#alias,
      aliasChosen: this.#settings.aliasChosen,
      tags: this.#settings.tags,
      board: this.#info.board,
      firmware: this.#info.firmware,
      protocolVersion: this.#info.protocolVersion,
      transport: this.#transport,
      transportSetting: this.#settings.transportSetting,
      approval,
      // Only imported devices have both.
      serial: this.#row?.serial,
      sealedKey: this.#row?.sealedKey,
      generation,
      createdAt: this.#createdAt,
      lapsesAt,
      lastSeenAt: this.#handle?.lastSeenAt ?? this.#lastSeenAt,
      lastDisconnectAt: this.#lastDisconnect?.at,
      lastDisconnectReason: this.#lastDisconnect?.reason,
    };
  }

  /** False for a board that got credentials automatically and has never connected. */
  get isKnown(): boolean {
    if (this.kind !== "esp32" || this.everConnected) return true;
    return this.pair?.state === "approved" ? this.pair.lapsesAt === undefined : this.pair !== undefined;
  }

  /**
   * Returns the row if it differs from what was last saved, and then counts it as saved. Presence does not count,
   * because it is saved separately.
   */
  takePendingWrites(): PendingWrites | undefined {
    const row = this.stored();
    const changed = this.#isSaved && this.#row !== undefined ? differing(row, this.#row) : undefined;
    if (changed?.length === 0) return undefined;
    this.#row = row;
    this.#isSaved = true;
    return { row, changed };
  }

  markUnsaved(): void {
    this.#isSaved = false;
  }

  get everConnected(): boolean {
    return this.#handle !== undefined || this.#lastSeenAt !== undefined;
  }

  markSeen(at: number): void {
    this.#lastSeenAt = at;
  }

  get tags(): readonly string[] {
    return this.#settings.tags;
  }

  /** Sets the alias that a person chose. It no longer follows the name of the board. */
  rename(alias: string): void {
    this.#alias = this.#names.takeAlias(this.id, alias);
    this.#settings = { ...this.#settings, aliasChosen: true };
  }

  /** Another node has saved this alias for another device first: takes the next free one. */
  releaseAlias(holder: string): void {
    const lost = this.#alias;
    this.#names.releaseAlias(this.id, lost, holder);
    const wanted = this.#settings.aliasChosen ? lost : defaultAlias(this.#info.board ?? "device", this.id);
    this.#alias = this.#names.takeAlias(this.id, this.kind === "esp32" ? wanted : this.id);
  }

  tag(tags: readonly string[]): void {
    this.#settings = { ...this.#settings, tags: [...new Set(tags)] };
  }

  get board(): string | undefined {
    return this.#info.board;
  }

  get firmware(): string | undefined {
    return this.#info.firmware;
  }

  /** The transport that the board is configured to use, if a person has set one for this device. */
  get transportSetting(): string | undefined {
    return this.#settings.transportSetting;
  }

  setTransport(transportSetting: string | undefined): void {
    this.#settings = { ...this.#settings, transportSetting };
  }

  get alias(): string {
    return this.#alias;
  }

  /** Set while the device is connected to any node. */
  /** Whether its user talks with a voice server; known for devices of this node. */
  get isTalking(): boolean {
    return this.#handle?.local?.session.conversation !== undefined;
  }

  get handle(): DeviceHandle | undefined {
    return this.#handle;
  }

  /** Throws `device_offline`. */
  requireHandle(): DeviceHandle {
    if (this.#handle !== undefined) return this.#handle;
    const since = this.offlineSince;
    if (since === undefined) throw new TendonError("device_offline", "the device has never connected");
    const offlineSince = isoTime(since);
    throw new TendonError("device_offline", `offline since ${offlineSince}`, { offlineSince });
  }

  /** Whether the device is connected to this node. */
  get isLocal(): boolean {
    return this.#handle?.local !== undefined;
  }

  get offlineSince(): number | undefined {
    return this.#lastDisconnect?.at;
  }

  get offlineReason(): string | undefined {
    return this.#lastDisconnect?.reason;
  }

  /** The last time the device was online. A gateway that was killed did not record the disconnect. */
  get lastOnlineAt(): number | undefined {
    const { at = 0 } = this.#lastDisconnect ?? {};
    return Math.max(at, this.#lastSeenAt ?? 0) || undefined;
  }

  /** Set while the first listing runs and no earlier tool list is known. */
  get awaitListing(): Promise<void> | undefined {
    return this.catalogue.size === 0 ? this.#listed?.promise : undefined;
  }

  /** Whether the current connection has listed its tools, completely. */
  get isListed(): boolean {
    return this.#handle?.hasTools === true && this.#listed === undefined && this.catalogue.complete;
  }

  attach(handle: DeviceHandle): void {
    const mcp = handle.hasTools;
    // The listing of the previous connection never ends, so its waiters are released here.
    if (this.#handle !== handle || !mcp) this.listingDone();
    this.#handle = handle;
    this.#transport = handle.transport;
    this.#connectedAt = handle.connectedAt;
    this.#mcp = mcp;
    if (mcp) this.#listed ??= promiseWithResolve();
  }

  /** Returns whether anything differs from what the device reported before. */
  identify(info: DeviceInfo): boolean {
    const { protocolVersion, board, firmware } = this.#info;
    if (info.board === board && info.firmware === firmware && info.protocolVersion === protocolVersion)
      return false;
    this.#info = info;
    if (info.board !== undefined && this.kind === "esp32" && !this.#settings.aliasChosen)
      this.#alias = this.#names.takeAlias(this.id, defaultAlias(info.board, this.id));
    return true;
  }

  listingDone(): void {
    this.#listed?.resolve();
    this.#listed = undefined;
  }

  detach(handle: DeviceHandle, at: number, reason: string): void {
    this.#lastSeenAt = handle.lastSeenAt;
    this.#lastDisconnect = { at, reason };
    this.#handle = undefined;
    this.listingDone();
  }

  /** Sets the reason that another node reports. Ignores reports about older connections. */
  setRemoteDisconnect(at: number, reason: string): void {
    if (at >= (this.#connectedAt ?? 0)) this.#lastDisconnect = { at, reason };
  }

  /** Removes the handle of a device that left the directory. Keeps a reason that its node has already reported. */
  detachRemote(handle: DeviceHandle, at: number, reason: string): void {
    const reported = this.#lastDisconnect;
    this.detach(handle, at, reason);
    if (reported !== undefined && reported.at >= handle.connectedAt) this.#lastDisconnect = reported;
  }

  /** Keeps the newest status, because reports can arrive out of order. */
  setStatus(at: number, value: JsonObject): void {
    if (at >= (this.#status?.at ?? 0)) this.#status = { at, value };
  }

  exposedName(tool: string): string {
    return this.#names.exposed(this.id, this.#alias, tool);
  }

  /** Applies a new listing of its tools. Returns whether anything changed. */
  updateTools(listing: Listing): boolean {
    const before = this.catalogue.known;
    const changed = this.catalogue.update(listing);
    if (changed) this.#names.listChanged(this.id, before, this.catalogue.known);
    return changed;
  }

  /** The names of its tools that the store has to keep. */
  specialNames(): readonly AssignedName[] {
    return this.#names.specialNames(this.id, this.#alias);
  }

  /** Drops old names of tools that are gone, if there are too many. Returns them. */
  pruneNames(): readonly string[] {
    return this.#names.prune(this.id);
  }

  matches(text: string): boolean {
    const needle = text.toLowerCase();
    return [this.id, this.#alias, this.#info.board ?? "", ...this.tags].some((field) =>
      field.toLowerCase().includes(needle),
    );
  }

  view(): Device {
    const lastSeenAt = this.#handle?.lastSeenAt ?? this.#lastSeenAt;
    return {
      id: this.id,
      alias: this.#alias,
      name: `${this.#info.board ?? "device"} ${this.id.slice(-5)}`,
      kind: this.kind,
      transport: this.#transport ?? null,
      online: this.#handle !== undefined,
      approval: this.kind === "esp32" ? (this.pair?.state ?? "none") : "approved",
      mcp: this.#mcp,
      lastSeenAt: lastSeenAt === undefined ? null : isoTime(lastSeenAt),
      connectedAt:
        this.#handle === undefined || this.#connectedAt === undefined ? null : isoTime(this.#connectedAt),
      board: this.#info.board ?? null,
      firmware: this.#info.firmware ?? null,
      protocolVersion: this.#info.protocolVersion ?? null,
      toolCount: this.catalogue.size,
      toolsComplete: this.catalogue.complete,
      ...(this.catalogue.truncated ? { toolsTruncated: true } : {}),
      tags: [...this.tags],
      vitals: this.#status === undefined ? null : vitalsOf(this.#status.at, this.#status.value),
      waitingCalls: this.waitingCalls,
      node: this.#handle?.node ?? this.#node,
    };
  }

  /** Figures that only the node that holds the device has. */
  inspection(): Inspection {
    const { sessionId, queuedCalls = 0, droppedAudioFrames = 0 } = this.#handle?.local?.session ?? {};
    return {
      sessionId,
      queuedCalls,
      droppedAudioFrames,
      lastSeenAt: this.#handle?.lastSeenAt ?? this.#lastSeenAt ?? this.#createdAt,
      status: this.#status,
    };
  }

  /** `inspection` comes from the node that holds the device. */
  detail(inspection?: Inspection): DeviceDetail {
    if (inspection?.status !== undefined) this.setStatus(inspection.status.at, inspection.status.value);
    const { sessionId, queuedCalls, droppedAudioFrames } = inspection ?? this.inspection();
    return {
      ...this.view(),
      sessionId: sessionId ?? null,
      ...(inspection === undefined ? {} : { lastSeenAt: isoTime(inspection.lastSeenAt) }),
      status: this.#status === undefined ? null : { at: isoTime(this.#status.at), value: this.#status.value },
      lastDisconnect:
        this.#lastDisconnect === undefined
          ? null
          : { at: isoTime(this.#lastDisconnect.at), reason: this.#lastDisconnect.reason },
      transportSetting: this.transportSetting ?? null,
      toolsProblem: this.catalogue.problem ?? null,
      queuedCalls,
      droppedAudioFrames,
    };
  }
}

interface PromiseWithResolve {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function promiseWithResolve(): PromiseWithResolve {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
