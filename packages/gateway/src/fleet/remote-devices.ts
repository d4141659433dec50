/**
 * Synchronizes connections with the directory. A device that connects to this node is claimed there. A device that
 * another node has claimed gets a `RemoteHandle`. The newest claim of a device wins on every node. When a node fails,
 * its devices go offline.
 */
import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import type { Caller, Claim, Cluster, Placed } from "../cluster/cluster.ts";
import { TendonError } from "../errors.ts";
import { type Events, takenOver } from "../events/events.ts";
import type { DeviceRecord } from "./device-record.ts";
import { answerDeviceRequest, type DeviceRequest } from "./device-requests.ts";
import type { LocalHandle } from "./local-handle.ts";
import { RemoteHandle } from "./remote-handle.ts";

export interface RemoteDevicesDependencies {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly events: Events;
  readonly find: (id: string) => DeviceRecord | undefined;
  /** Reads a device from the store. */
  readonly reload: (id: string) => Promise<unknown>;
  /** Adds a device that is connected but not saved yet. */
  readonly addUnsaved: (id: string, claim: Claim) => void;
  /** Updates the toolset and the subscriptions. */
  readonly connected: (id: string, handle: RemoteHandle) => void;
  readonly disconnected: (id: string) => void;
  /** Makes a stop wait for work that other nodes requested. Rejects while the gateway stops. */
  readonly trackWork: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

interface LocalClaim {
  readonly handle: LocalHandle;
  readonly unserve: () => void;
  hasTools: boolean;
  revision: number | undefined;
}

const parallelClaims = 32;
const retryMs = 1_000;

export class RemoteDevices {
  readonly #dependencies: RemoteDevicesDependencies;
  readonly #claims = new Map<string, LocalClaim>();
  /** The directory's entries of devices on other nodes, reachable or not. */
  readonly #placed = new Map<string, Placed>();
  readonly #pending = new Set<Promise<void>>();
  /** The devices that the directory has sent again since NATS was lost. */
  #replayed: Set<string> | undefined;

  private constructor(dependencies: RemoteDevicesDependencies) {
    this.#dependencies = dependencies;
  }

  static async open(dependencies: RemoteDevicesDependencies): Promise<RemoteDevices> {
    const remote = new RemoteDevices(dependencies);
    const { cluster } = dependencies;
    cluster.members.onChange((instance, alive, seenAt) => {
      if (alive) remote.#nodeJoined(instance);
      else remote.#nodeLost(instance, seenAt);
    });
    cluster.onAway(() => {
      remote.#replayed = new Set();
    });
    await cluster.openDirectory(
      (device, placed, revision) => remote.#applyPlacement(device, placed, revision),
      () => remote.#reconcile(),
    );
    return remote;
  }

  /** A device has connected here, or has sent another hello and may have tools now. */
  claim(handle: LocalHandle): void {
    const { cluster } = this.#dependencies;
    const { deviceId: device, hasTools } = handle.session;
    const known = this.#claims.get(device);
    if (known?.handle === handle) {
      if (known.hasTools === hasTools) return;
      known.hasTools = hasTools;
      this.#track(this.#writeClaim(known));
      return;
    }
    known?.unserve();
    // This connection is newer than the directory's entry. A running `#loadAndAttach` must not use the old one.
    this.#placed.delete(device);
    const claim: LocalClaim = {
      handle,
      hasTools,
      unserve: cluster.rpc.serveDevice(device, (body, signal, caller) =>
        // Safe: only nodes of this cluster send these requests.
        this.#answer(device, handle, body as DeviceRequest, signal, caller),
      ),
      revision: undefined,
    };
    this.#claims.set(device, claim);
    this.#track(this.#writeClaim(claim));
  }

  /** A session has ended. Its claim is released unless a newer session of the device has replaced it. */
  release(session: LocalHandle["session"]): void {
    const claim = this.#claims.get(session.deviceId);
    if (claim?.handle.session !== session) return;
    this.#claims.delete(session.deviceId);
    claim.unserve();
    if (claim.revision !== undefined)
      this.#track(this.#dependencies.cluster.directory.release(session.deviceId, claim.revision));
  }

  /** Resolves when the directory has all connections and disconnections of this node. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #track(work: Promise<void>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  async #writeClaim(claim: LocalClaim): Promise<void> {
    const { cluster, clock } = this.#dependencies;
    const { deviceId } = claim.handle.session;
    try {
      const revision = await cluster.directory.claim(deviceId, this.#claimOf(claim.handle));
      claim.revision = revision;
      // The session may have ended or been replaced while the claim was sent.
      if (this.#claims.get(deviceId) !== claim) await cluster.directory.release(deviceId, revision);
    } catch {
      // If NATS is unavailable, `#reconcile` claims all devices when it is back. If it stores nothing, this is repeated.
      if (cluster.connected) clock.after(retryMs, () => this.#claimLater(claim));
    }
  }

  #claimLater(claim: LocalClaim): void {
    const { cluster } = this.#dependencies;
    if (cluster.connected && this.#claims.get(claim.handle.session.deviceId) === claim)
      this.#track(this.#writeClaim(claim));
  }

  #claimOf({ kind, transport, hasTools, connectedAt, mcp }: LocalHandle): Claim {
    const { instance, node } = this.#dependencies.cluster;
    return { instance, node, kind, transport, hasTools, connectedAt, mcp };
  }

  /** Does not forward requests. If the device has moved on meanwhile, the caller gets `device_offline`. */
  async #answer(
    device: string,
    handle: LocalHandle,
    request: DeviceRequest,
    signal: Cancellation,
    caller: Caller,
  ): Promise<unknown> {
    const { clock, find, trackWork } = this.#dependencies;
    return await trackWork(async () => {
      const current = find(device)?.handle;
      if (current === handle) return await answerDeviceRequest(handle, request, { clock, signal, caller });
      const detail =
        current === undefined ? "the device is offline" : "the device is moving to another node; retry";
      throw new TendonError("device_offline", detail, { sent: false });
    });
  }

  #applyPlacement(device: string, placed: Placed | undefined, revision: number): void {
    this.#replayed?.add(device);
    if (placed === undefined) {
      const known = this.#placed.get(device);
      if (known !== undefined && known.revision < revision) this.#drop(device, "the device disconnected");
      // The other nodes removed the claim because this node was frozen or cut off for a while.
      const claim = this.#claims.get(device);
      if (claim?.revision !== undefined && claim.revision < revision) this.#track(this.#claimRemoved(claim));
      return;
    }
    if (placed.claim.instance === this.#dependencies.cluster.instance) {
      this.#placed.delete(device);
      return;
    }
    const claim = this.#claims.get(device);
    // A claim of this node that is still being sent is newer.
    if (claim !== undefined && (claim.revision === undefined || claim.revision > placed.revision)) return;
    this.#placed.set(device, placed);
    if (this.#dependencies.cluster.members.isAlive(placed.claim.instance))
      void this.#loadAndAttach(device, placed);
  }

  /** Reads a device that is new to this node first. Its node may not have saved it yet. */
  async #loadAndAttach(device: string, placed: Placed): Promise<void> {
    const { cluster, clock, find, reload, addUnsaved } = this.#dependencies;
    const isCurrent = () => this.#placed.get(device) === placed;
    try {
      if (find(device) === undefined) await reload(device);
      if (!isCurrent()) return;
      if (find(device) === undefined) addUnsaved(device, placed.claim);
      else this.attach(device);
    } catch {
      // The store is unavailable. Without a connection to NATS there is nothing to attach.
      if (cluster.connected && isCurrent())
        clock.after(retryMs, () => {
          if (cluster.connected && isCurrent()) void this.#loadAndAttach(device, placed);
        });
    }
  }

  /** Attaches the new handle before it closes the old connection, so that the end of the old one has no effect. */
  attach(device: string): void {
    const { cluster, find, clock, connected } = this.#dependencies;
    const placed = this.#placed.get(device);
    const record = find(device);
    if (placed === undefined || record === undefined || !cluster.members.isAlive(placed.claim.instance))
      return;
    const old = record.handle;
    if (old?.revision === placed.revision) return;
    const handle = new RemoteHandle(device, placed, clock, cluster.rpc);
    record.attach(handle);
    if (record.catalogue.complete || record.catalogue.size > 0) record.listingDone();
    connected(device, handle);
    if (old?.local === undefined) return;
    const { session } = old.local;
    this.release(session);
    session.close(1001, takenOver);
  }

  #drop(device: string, reason: string): void {
    this.#placed.delete(device);
    this.#detach(device, reason);
  }

  #detach(device: string, reason: string, at = this.#dependencies.clock.now()): void {
    const record = this.#dependencies.find(device);
    if (record?.handle === undefined || record.isLocal) return;
    record.detachRemote(record.handle, at, reason);
    this.#dependencies.disconnected(device);
  }

  #nodeJoined(instance: string): void {
    for (const [device, placed] of this.#placed)
      if (placed.claim.instance === instance) void this.#loadAndAttach(device, placed);
  }

  /** One of the remaining nodes sends the events and cleans up the directory. */
  #nodeLost(instance: string, seenAt: number): void {
    const { cluster } = this.#dependencies;
    const lost = [...this.#placed].filter(([, { claim }]) => claim.instance === instance);
    for (const [device] of lost) this.#detach(device, "its node failed or left", seenAt);
    for (const { handle } of this.#claims.values()) handle.removeWatcher(instance);
    if (cluster.nodes()[0]?.instance === cluster.instance) this.#track(this.#cleanUpLost(lost, seenAt));
  }

  /** Works in groups, because a node may hold a hundred thousand devices. */
  async #cleanUpLost(lost: readonly (readonly [string, Placed])[], seenAt: number): Promise<void> {
    const { cluster, events } = this.#dependencies;
    for (let at = 0; at < lost.length; at += parallelClaims) {
      const group = lost.slice(at, at + parallelClaims);
      for (const [device] of group) events.deviceLostWithNode(device, seenAt);
      await Promise.all(group.map(([device, { revision }]) => cluster.directory.release(device, revision)));
    }
  }

  /** After NATS is back: drops the devices that the directory did not send again, and claims those connected here. */
  async #reconcile(): Promise<void> {
    const replayed = this.#replayed;
    this.#replayed = undefined;
    for (const device of [...this.#placed.keys()])
      if (replayed !== undefined && !replayed.has(device))
        this.#drop(device, "the device disconnected while NATS was unavailable");
    const waiting = [...this.#claims.values()];
    const worker = async () => {
      for (let claim = waiting.pop(); claim !== undefined; claim = waiting.pop())
        await this.#claimAgain(claim);
    };
    await Promise.all(Array.from({ length: parallelClaims }, worker));
  }

  /** The device may have moved to another node meanwhile, whose claim this node has not read yet. */
  async #claimRemoved(claim: LocalClaim): Promise<void> {
    const { cluster, clock } = this.#dependencies;
    try {
      await this.#claimAgain(claim);
    } catch {
      if (cluster.connected) clock.after(retryMs, () => this.#track(this.#claimRemoved(claim)));
    }
  }

  async #claimAgain(claim: LocalClaim): Promise<void> {
    const { cluster } = this.#dependencies;
    const { deviceId, connectedAt } = claim.handle.session;
    if (this.#claims.get(deviceId) !== claim) return;
    const found = await cluster.directory.find(deviceId);
    if (found?.claim.instance === cluster.instance) {
      claim.revision = found.revision;
      return;
    }
    const onOtherNode = found !== undefined && cluster.members.isAlive(found.claim.instance);
    if (onOtherNode && found.claim.connectedAt > connectedAt) {
      claim.revision = 0;
      this.#applyPlacement(deviceId, found, found.revision);
      return;
    }
    await this.#writeClaim(claim);
  }
}
