import { type Device, type DeviceDetail, defaultAlias, type JsonObject } from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import type { DeviceInfo, DeviceSession } from "../device/device.ts";
import { Catalogue } from "./catalogue.ts";
import type { Names } from "./names.ts";

/** One device as the gateway knows it, connected or not. */
export class DeviceRecord {
  readonly id: string;
  readonly kind: DeviceSession["kind"];
  readonly catalogue = new Catalogue();
  readonly #names: Names;
  readonly #node: string;
  #alias: string;
  #session: DeviceSession | undefined;
  #info: DeviceInfo = { protocolVersion: undefined, board: undefined, firmware: undefined };
  #transport: string | undefined;
  #mcp = false;
  #connectedAt: number | undefined;
  #lastSeenAt: number | undefined;
  #lastDisconnect: { at: number; reason: string } | undefined;
  #status: { at: number; value: JsonObject } | undefined;
  /** Settled when the running connection has been listed for the first time, or is over. */
  #listed: PromiseWithResolve | undefined;

  constructor(id: string, kind: DeviceSession["kind"], names: Names, node: string) {
    this.id = id;
    this.kind = kind;
    this.#names = names;
    this.#node = node;
    // A process is named in the settings: its id is its alias.
    this.#alias = names.takeAlias(id, kind === "process" ? id : defaultAlias("device", id), undefined);
  }

  get alias(): string {
    return this.#alias;
  }

  get session(): DeviceSession | undefined {
    return this.#session;
  }

  get offlineSince(): number | undefined {
    return this.#lastDisconnect?.at;
  }

  /** While the very first listing runs nothing is known yet; afterwards the last list counts. */
  get awaitListing(): Promise<void> | undefined {
    return this.catalogue.size === 0 ? this.#listed?.promise : undefined;
  }

  attach(session: DeviceSession): void {
    const mcp = session.hasTools;
    // Whoever waits for another connection's list is told that it will not come.
    if (this.#session !== session || !mcp) this.listingDone();
    this.#session = session;
    this.#transport = session.transport;
    this.#connectedAt = session.connectedAt;
    this.#mcp = mcp;
    if (mcp) this.#listed ??= promiseWithResolve();
  }

  identify(info: DeviceInfo): void {
    this.#info = info;
    if (info.board === undefined || this.kind === "process") return;
    this.#alias = this.#names.takeAlias(this.id, defaultAlias(info.board, this.id), this.#alias);
  }

  listingDone(): void {
    this.#listed?.resolve();
    this.#listed = undefined;
  }

  detach(session: DeviceSession, at: number, reason: string): void {
    this.#lastSeenAt = session.lastSeenAt;
    this.#lastDisconnect = { at, reason };
    this.#session = undefined;
    this.listingDone();
  }

  rememberStatus(at: number, value: JsonObject): void {
    this.#status = { at, value };
  }

  exposedName(tool: string): string {
    return this.#names.exposed(this.id, this.#alias, tool);
  }

  matches(text: string): boolean {
    const needle = text.toLowerCase();
    return [this.id, this.#alias, this.#info.board ?? ""].some((field) =>
      field.toLowerCase().includes(needle),
    );
  }

  view(): Device {
    const lastSeenAt = this.#session?.lastSeenAt ?? this.#lastSeenAt;
    return {
      id: this.id,
      alias: this.#alias,
      name: `${this.#info.board ?? "device"} ${this.id.slice(-5)}`,
      kind: this.kind,
      transport: this.#transport ?? null,
      online: this.#session !== undefined,
      mcp: this.#mcp,
      lastSeenAt: lastSeenAt === undefined ? null : isoTime(lastSeenAt),
      connectedAt:
        this.#session === undefined || this.#connectedAt === undefined ? null : isoTime(this.#connectedAt),
      board: this.#info.board ?? null,
      firmware: this.#info.firmware ?? null,
      protocolVersion: this.#info.protocolVersion ?? null,
      toolCount: this.catalogue.size,
      toolsComplete: this.catalogue.complete,
      tags: [],
      node: this.#node,
    };
  }

  detail(): DeviceDetail {
    return {
      ...this.view(),
      status: this.#status === undefined ? null : { at: isoTime(this.#status.at), value: this.#status.value },
      lastDisconnect:
        this.#lastDisconnect === undefined
          ? null
          : { at: isoTime(this.#lastDisconnect.at), reason: this.#lastDisconnect.reason },
      toolsProblem: this.catalogue.problem ?? null,
      queuedCalls: this.#session?.queuedCalls ?? 0,
      droppedAudioFrames: this.#session?.droppedAudioFrames ?? 0,
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
