import { type Device, type DeviceDetail, defaultAlias, isObject, type JsonObject } from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import type { DeviceInfo, DeviceSession } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { StoredDevice } from "../store/store.ts";
import { Catalogue } from "./catalogue.ts";
import { type CredentialPair, restoredPair, storedPair } from "./credential-pair.ts";
import type { DeviceHandle, Inspection } from "./device-handle.ts";
import type { Names } from "./names.ts";
import { differing, type PendingWrites } from "./pending-writes.ts";

/** One device as the gateway knows it, connected or not. */
export class DeviceRecord {
  readonly id: string;
  readonly kind: DeviceSession["kind"];
  readonly catalogue = new Catalogue();
  /** Its credentials, where it has any. */
  pair: CredentialPair | undefined;
  readonly #names: Names;
  readonly #node: string;
  readonly #createdAt: number;
  #stored: StoredDevice | undefined;
  /** What people have decided about it. */
  #chosen: Pick<StoredDevice, "aliasChosen" | "tags" | "transportSetting"> = {
    aliasChosen: false,
    tags: [],
    transportSetting: undefined,
  };
  /** What was last written down, as text. */
  #written: string | undefined;
  #alias: string;
  #handle: DeviceHandle | undefined;
  #info: DeviceInfo = { protocolVersion: undefined, board: undefined, firmware: undefined };
  #transport: string | undefined;
  #mcp = false;
  #connectedAt: number | undefined;
  #lastSeenAt: number | undefined;
  #lastDisconnect: { at: number; reason: string } | undefined;
  #status: { at: number; value: JsonObject } | undefined;
  /** Settled when the running connection has been listed for the first time, or is over. */
  #listed: PromiseWithResolve | undefined;

  constructor(id: string, kind: DeviceSession["kind"], names: Names, node: string, createdAt: number) {
    this.id = id;
    this.kind = kind;
    this.#names = names;
    this.#node = node;
    // A process is named in the settings: its id is its alias.
    this.#createdAt = createdAt;
    this.#alias = names.takeAlias(id, kind === "process" ? id : defaultAlias("device", id));
  }

  /** The device as it was when it was last written down. */
  static restored(stored: StoredDevice, names: Names, node: string): DeviceRecord {
    const kind = stored.kind === "process" ? "process" : "esp32";
    const record = new DeviceRecord(stored.id, kind, names, node, stored.createdAt);
    record.#take(stored);
    record.#lastDisconnect = lastDisconnectOf(stored);
    record.#mcp = true;
    return record;
  }

  /** Another node has written it anew. What this one knows better, because the device is here, stays. */
  takeAgain(stored: StoredDevice): void {
    this.#take(this.isHere ? { ...this.stored(), ...decidedBy(stored) } : stored);
  }

  #take(stored: StoredDevice): void {
    this.#names.ownAlias(stored.id, stored.alias);
    this.#alias = stored.alias;
    this.#stored = stored;
    const { aliasChosen, tags, transportSetting } = stored;
    this.#chosen = { aliasChosen, tags, transportSetting };
    this.#info = {
      protocolVersion: stored.protocolVersion,
      board: stored.board,
      firmware: stored.firmware,
    };
    this.#transport = stored.transport;
    this.#lastSeenAt = stored.lastSeenAt;
    const { lastDisconnectAt: at, lastDisconnectReason: reason = "" } = stored;
    // When it left is written a moment later than it is told.
    if (at !== undefined && at >= (this.#lastDisconnect?.at ?? 0)) this.#lastDisconnect = { at, reason };
    this.pair = restoredPair(stored);
    this.unwritten();
  }

  /** The whole of it, as it is written down. */
  stored(): StoredDevice {
    return {
      ...(this.#stored ?? newcomer),
      ...this.#chosen,
      ...storedPair(this.pair),
      id: this.id,
      kind: this.kind,
      alias: this.#alias,
      board: this.#info.board,
      firmware: this.#info.firmware,
      protocolVersion: this.#info.protocolVersion,
      transport: this.#transport,
      createdAt: this.#createdAt,
      lastSeenAt: this.#handle?.lastSeenAt ?? this.#lastSeenAt,
      lastDisconnectAt: this.#lastDisconnect?.at,
      lastDisconnectReason: this.#lastDisconnect?.reason,
    };
  }

  /** A board that asked for credentials and never came is nobody's business yet; one that somebody approved is. */
  get isKnown(): boolean {
    if (this.kind === "process" || this.everConnected) return true;
    return this.pair?.state === "approved" ? this.pair.lapsesAt === undefined : this.pair !== undefined;
  }

  /**
   * The row where it differs from what was last written, and from then on it counts as written. When a device was
   * last seen does not count: that goes another way.
   */
  unwritten(): PendingWrites | undefined {
    const row = this.stored();
    const written = this.#written;
    const {
      lastSeenAt: _seen,
      lastDisconnectAt: _left,
      lastDisconnectReason: _why,
      transport: _way,
      ...kept
    } = row;
    const text = JSON.stringify(kept);
    if (text === written) return undefined;
    this.#written = text;
    return { row, changed: written === undefined ? undefined : differing(kept, written) };
  }

  notWritten(): void {
    this.#written = undefined;
  }

  /** It has been connected at some time. */
  get everConnected(): boolean {
    return this.#handle !== undefined || this.#lastSeenAt !== undefined;
  }

  heardOf(at: number): void {
    this.#lastSeenAt = at;
  }

  get tags(): readonly string[] {
    return this.#chosen.tags;
  }

  /** A person's choice: from now on the alias no longer follows the board. */
  rename(alias: string): void {
    this.#alias = this.#names.takeAlias(this.id, alias);
    this.#chosen = { ...this.#chosen, aliasChosen: true };
  }

  /** Another node has written this alias down for another device first: takes the next one that is free. */
  giveUpAlias(holder: string): void {
    const lost = this.#alias;
    this.#names.giveUp(this.id, lost, holder);
    const wanted = this.#chosen.aliasChosen ? lost : defaultAlias(this.#info.board ?? "device", this.id);
    this.#alias = this.#names.takeAlias(this.id, this.kind === "process" ? this.id : wanted);
  }

  tag(tags: readonly string[]): void {
    this.#chosen = { ...this.#chosen, tags: [...new Set(tags)] };
  }

  get board(): string | undefined {
    return this.#info.board;
  }

  get firmware(): string | undefined {
    return this.#info.firmware;
  }

  /** What it is told to use, where that is a setting of its own. */
  get transportSetting(): string | undefined {
    return this.#chosen.transportSetting;
  }

  offer(transportSetting: string | undefined): void {
    this.#chosen = { ...this.#chosen, transportSetting };
  }

  get alias(): string {
    return this.#alias;
  }

  /** The device itself, while it is connected, to whichever node. */
  get handle(): DeviceHandle | undefined {
    return this.#handle;
  }

  /** Throws `device_offline`. */
  requireHandle(): DeviceHandle {
    if (this.#handle !== undefined) return this.#handle;
    const since = this.offlineSince;
    if (since === undefined) throw new TendonError("device_offline", "it has not connected yet");
    const offlineSince = isoTime(since);
    throw new TendonError("device_offline", `offline since ${offlineSince}`, { offlineSince });
  }

  /** This node holds its connection. */
  get isHere(): boolean {
    return this.#handle?.local !== undefined;
  }

  get offlineSince(): number | undefined {
    return this.#lastDisconnect?.at;
  }

  get offlineReason(): string | undefined {
    return this.#lastDisconnect?.reason;
  }

  /** When it was last there, as far as is known; a gateway that was killed has not seen it leave. */
  get awaySince(): number | undefined {
    const { at = 0 } = this.#lastDisconnect ?? {};
    return Math.max(at, this.#lastSeenAt ?? 0) || undefined;
  }

  /** While the very first listing runs nothing is known yet; afterwards the last list counts. */
  get awaitListing(): Promise<void> | undefined {
    return this.catalogue.size === 0 ? this.#listed?.promise : undefined;
  }

  attach(handle: DeviceHandle): void {
    const mcp = handle.hasTools;
    // A list of the connection before this one does not come any more.
    if (this.#handle !== handle || !mcp) this.listingDone();
    this.#handle = handle;
    this.#transport = handle.transport;
    this.#connectedAt = handle.connectedAt;
    this.#mcp = mcp;
    if (mcp) this.#listed ??= promiseWithResolve();
  }

  identify(info: DeviceInfo): void {
    this.#info = info;
    if (info.board === undefined || this.kind === "process" || this.#chosen.aliasChosen) return;
    this.#alias = this.#names.takeAlias(this.id, defaultAlias(info.board, this.id));
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

  /** It left another node, which says why; of a connection before the last one that is of no interest any more. */
  leftElsewhere(at: number, reason: string): void {
    if (at >= (this.#connectedAt ?? 0)) this.#lastDisconnect = { at, reason };
  }

  /** The directory has it no more. Why it left may have been told already. */
  detachRemote(handle: DeviceHandle, at: number, reason: string): void {
    const reported = this.#lastDisconnect;
    this.detach(handle, at, reason);
    if (reported !== undefined && reported.at >= handle.connectedAt) this.#lastDisconnect = reported;
  }

  /** The newest counts, in whatever order they are told. */
  rememberStatus(at: number, value: JsonObject): void {
    if (at >= (this.#status?.at ?? 0)) this.#status = { at, value };
  }

  exposedName(tool: string): string {
    return this.#names.exposed(this.id, this.#alias, tool);
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
      approval: this.kind === "process" ? "approved" : (this.pair?.state ?? "none"),
      mcp: this.#mcp,
      lastSeenAt: lastSeenAt === undefined ? null : isoTime(lastSeenAt),
      connectedAt:
        this.#handle === undefined || this.#connectedAt === undefined ? null : isoTime(this.#connectedAt),
      board: this.#info.board ?? null,
      firmware: this.#info.firmware ?? null,
      protocolVersion: this.#info.protocolVersion ?? null,
      toolCount: this.catalogue.size,
      toolsComplete: this.catalogue.complete,
      tags: [...this.tags],
      vitals: this.#status === undefined ? null : vitalsOf(this.#status.at, this.#status.value),
      node: this.#handle?.node ?? this.#node,
    };
  }

  /** What only the node that holds the device knows of it. */
  inspection(): Inspection {
    const { queuedCalls = 0, droppedAudioFrames = 0 } = this.#handle?.local?.session ?? {};
    return {
      queuedCalls,
      droppedAudioFrames,
      lastSeenAt: this.#handle?.lastSeenAt ?? this.#lastSeenAt ?? this.#createdAt,
      status: this.#status,
    };
  }

  /** `inspection`: as the node that holds the device reports it. */
  detail(inspection?: Inspection): DeviceDetail {
    if (inspection?.status !== undefined) this.rememberStatus(inspection.status.at, inspection.status.value);
    const { queuedCalls, droppedAudioFrames } = inspection ?? this.inspection();
    return {
      ...this.view(),
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

/** What a list shows of a status; a device may say anything under these names, or nothing. */
function vitalsOf(at: number, { battery, network }: JsonObject): Device["vitals"] {
  const level = isObject(battery) ? battery["level"] : undefined;
  const signal = isObject(network) ? network["signal"] : undefined;
  const charging = isObject(battery) && battery["charging"] === true;
  if (typeof level !== "number" && typeof signal !== "string") return null;
  return {
    at: isoTime(at),
    battery: typeof level === "number" ? { level, charging } : null,
    signal: typeof signal === "string" ? signal.slice(0, 32) : null,
  };
}

/** A device that was seen after it last left was there when the gateway before this one ended by force. */
function lastDisconnectOf({
  lastSeenAt,
  lastDisconnectAt: at,
  lastDisconnectReason: reason = "",
}: StoredDevice) {
  if (lastSeenAt !== undefined && lastSeenAt > (at ?? 0)) {
    return { at: lastSeenAt, reason: "the gateway ended without a word" };
  }
  return at === undefined ? undefined : { at, reason };
}

/** Programs come from the settings and from nowhere else. */
export function refuseProgram({ kind }: Pick<DeviceRecord, "kind">): void {
  if (kind !== "process") return;
  throw new TendonError("conflict", "this device is a program of the settings; change it in tendon.yaml");
}

/** What people decide, on whatever node. */
function decidedBy(stored: StoredDevice) {
  const { alias, aliasChosen, tags, transportSetting, approval, clientIdHash, generation, lapsesAt } = stored;
  return { alias, aliasChosen, tags, transportSetting, approval, clientIdHash, generation, lapsesAt };
}

/** What nobody has said about a device yet. */
const newcomer = { serial: undefined, sealedKey: undefined } as const;

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
