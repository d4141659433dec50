/**
 * The other nodes' devices as this one knows them, and this one's as the others do. What connects here is claimed in
 * the directory; what the directory says of others is shown as a session far away. The newest claim of a device wins
 * on every node, and a node that is gone takes its devices with it.
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

export interface RemoteDevicesNeeds {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly events: Events;
  readonly find: (id: string) => DeviceRecord | undefined;
  /** Reads a device anew from the store; one that is not there is forgotten here. */
  readonly reload: (id: string) => Promise<unknown>;
  /** A device that is there and was never written down. */
  readonly heardOf: (id: string, claim: Claim) => void;
  /** Its tools are listed from now on, or for a while yet. */
  readonly came: (id: string, handle: RemoteHandle) => void;
  readonly left: (id: string) => void;
  /** Counts work for other nodes among what a stop waits for. Rejects while the gateway stops. */
  readonly count: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

interface Held {
  readonly handle: LocalHandle;
  readonly unserve: () => void;
  hasTools: boolean;
  revision: number | undefined;
}

const claimsAtOnce = 32;
const showAgainMs = 1_000;

export class RemoteDevices {
  readonly #needs: RemoteDevicesNeeds;
  readonly #held = new Map<string, Held>();
  /** What the directory says of devices on other nodes, reachable or not. */
  readonly #placed = new Map<string, Placed>();
  readonly #underWay = new Set<Promise<void>>();
  /** Filled while the directory tells everything again. */
  #toldAgain: Set<string> | undefined;

  private constructor(needs: RemoteDevicesNeeds) {
    this.#needs = needs;
  }

  static async open(needs: RemoteDevicesNeeds): Promise<RemoteDevices> {
    const others = new RemoteDevices(needs);
    const { cluster } = needs;
    cluster.members.onChange((instance, alive) => {
      if (alive) others.#nodeCame(instance);
      else others.#nodeLost(instance);
    });
    cluster.onAway(() => {
      others.#toldAgain = new Set();
    });
    await cluster.openDirectory(
      (device, placed, revision) => others.#placedElsewhere(device, placed, revision),
      () => others.#reconcile(),
    );
    return others;
  }

  /** A device has connected here, or says hello again and has tools now, or none. */
  hold(handle: LocalHandle): void {
    const { cluster } = this.#needs;
    const { deviceId: device, hasTools } = handle.session;
    const known = this.#held.get(device);
    if (known?.handle === handle) {
      if (known.hasTools === hasTools) return;
      known.hasTools = hasTools;
      this.#do(this.#claim(known));
      return;
    }
    known?.unserve();
    // This connection is newer than what the directory last said, also to those who are still reading the device.
    this.#placed.delete(device);
    const held: Held = {
      handle,
      hasTools,
      unserve: cluster.rpc.serveDevice(device, (body, signal, caller) =>
        // Safe: only nodes of this cluster write here.
        this.#answer(device, handle, body as DeviceRequest, signal, caller),
      ),
      revision: undefined,
    };
    this.#held.set(device, held);
    this.#do(this.#claim(held));
  }

  /** It has gone from here, or has come again on another connection. */
  release(session: LocalHandle["session"]): void {
    const held = this.#held.get(session.deviceId);
    if (held?.handle.session !== session) return;
    this.#held.delete(session.deviceId);
    held.unserve();
    if (held.revision !== undefined)
      this.#do(this.#needs.cluster.directory.release(session.deviceId, held.revision));
  }

  /** Resolves when the directory knows of everything that has come and gone here. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #do(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }

  async #claim(held: Held): Promise<void> {
    const { cluster } = this.#needs;
    const { deviceId } = held.handle.session;
    try {
      const revision = await cluster.directory.claim(deviceId, this.#claimOf(held.handle));
      held.revision = revision;
      // It may have gone, or come again, while the claim was on its way.
      if (this.#held.get(deviceId) !== held) await cluster.directory.release(deviceId, revision);
    } catch {
      // NATS is away: everything held is claimed when it is back.
    }
  }

  #claimOf({ kind, transport, hasTools, connectedAt, mcp }: LocalHandle): Claim {
    const { instance, node } = this.#needs.cluster;
    return { instance, node, kind, transport, hasTools, connectedAt, mcp };
  }

  /** A request goes from node to node once at most: where the device has moved on meanwhile, the caller is told. */
  async #answer(
    device: string,
    handle: LocalHandle,
    request: DeviceRequest,
    signal: Cancellation,
    caller: Caller,
  ): Promise<unknown> {
    const { clock, find, count } = this.#needs;
    return await count(async () => {
      const current = find(device)?.handle;
      if (current === handle) return await answerDeviceRequest(handle, request, { clock, signal, caller });
      const detail = current === undefined ? "the device is gone" : "the device is moving to another node";
      throw new TendonError("device_offline", detail, { sent: false });
    });
  }

  #placedElsewhere(device: string, placed: Placed | undefined, revision: number): void {
    this.#toldAgain?.add(device);
    if (placed === undefined) {
      const known = this.#placed.get(device);
      if (known !== undefined && known.revision < revision) this.#gone(device, "it left");
      // Others took this node for gone, while it was frozen or cut off, and cleared up after it.
      const held = this.#held.get(device);
      if (held?.revision !== undefined && held.revision < revision) this.#do(this.#claim(held));
      return;
    }
    if (placed.claim.instance === this.#needs.cluster.instance) {
      this.#placed.delete(device);
      return;
    }
    const held = this.#held.get(device);
    // While our own claim is on its way, ours is the newer one.
    if (held !== undefined && (held.revision === undefined || held.revision > placed.revision)) return;
    this.#placed.set(device, placed);
    if (this.#needs.cluster.members.isAlive(placed.claim.instance)) void this.#show(device, placed);
  }

  /** A device that is new to this node has to be read first; it may not even have been written yet. */
  async #show(device: string, placed: Placed): Promise<void> {
    const { cluster, clock, find, reload, heardOf } = this.#needs;
    const stillThere = () => this.#placed.get(device) === placed;
    try {
      if (find(device) === undefined) await reload(device);
      if (!stillThere()) return;
      if (find(device) === undefined) heardOf(device, placed.claim);
      else this.shown(device);
    } catch {
      // The store is away. Once NATS is away too, or this node has left, there is nothing to show any more.
      if (cluster.connected && stillThere())
        clock.after(showAgainMs, () => {
          if (cluster.connected && stillThere()) void this.#show(device, placed);
        });
    }
  }

  /** Shown first, closed then: what the old connection says at its end touches nothing any more. */
  shown(device: string): void {
    const { cluster, find, clock, came } = this.#needs;
    const placed = this.#placed.get(device);
    const record = find(device);
    if (placed === undefined || record === undefined || !cluster.members.isAlive(placed.claim.instance))
      return;
    const old = record.handle;
    if (old?.revision === placed.revision) return;
    const handle = new RemoteHandle(device, placed, clock, cluster.rpc);
    record.attach(handle);
    if (record.catalogue.complete || record.catalogue.size > 0) record.listingDone();
    came(device, handle);
    if (old?.local === undefined) return;
    const { session } = old.local;
    this.release(session);
    session.close(1001, takenOver);
  }

  #gone(device: string, reason: string): void {
    this.#placed.delete(device);
    this.#hide(device, reason);
  }

  #hide(device: string, reason: string): void {
    const record = this.#needs.find(device);
    if (record?.handle === undefined || record.isHere) return;
    record.detachRemote(record.handle, this.#needs.clock.now(), reason);
    this.#needs.left(device);
  }

  #nodeCame(instance: string): void {
    for (const [device, placed] of this.#placed)
      if (placed.claim.instance === instance) void this.#show(device, placed);
  }

  /** One of those who are left says so for all, and clears the directory. */
  #nodeLost(instance: string): void {
    const { cluster } = this.#needs;
    const lost = [...this.#placed].filter(([, { claim }]) => claim.instance === instance);
    for (const [device] of lost) this.#hide(device, "its node is gone");
    for (const { handle } of this.#held.values()) handle.forgetWatcher(instance);
    if (cluster.nodes()[0]?.instance === cluster.instance) this.#do(this.#cleanUpLost(lost));
  }

  /** A node may have held a hundred thousand: they go one group after the other. */
  async #cleanUpLost(lost: readonly (readonly [string, Placed])[]): Promise<void> {
    const { cluster, events } = this.#needs;
    for (let at = 0; at < lost.length; at += claimsAtOnce) {
      const group = lost.slice(at, at + claimsAtOnce);
      for (const [device] of group) events.deviceLostWithNode(device);
      await Promise.all(group.map(([device, { revision }]) => cluster.directory.release(device, revision)));
    }
  }

  /** NATS was away: what was told again counts, what was not is gone, and what is here is claimed again. */
  async #reconcile(): Promise<void> {
    const told = this.#toldAgain;
    this.#toldAgain = undefined;
    for (const device of [...this.#placed.keys()])
      if (told !== undefined && !told.has(device)) this.#gone(device, "it left while NATS was away");
    const waiting = [...this.#held.values()];
    const worker = async () => {
      for (let held = waiting.pop(); held !== undefined; held = waiting.pop()) await this.#claimAgain(held);
    };
    await Promise.all(Array.from({ length: claimsAtOnce }, worker));
  }

  async #claimAgain(held: Held): Promise<void> {
    const { cluster } = this.#needs;
    const { deviceId, connectedAt } = held.handle.session;
    if (this.#held.get(deviceId) !== held) return;
    const found = await cluster.directory.find(deviceId);
    if (found?.claim.instance === cluster.instance) {
      held.revision = found.revision;
      return;
    }
    const elsewhere = found !== undefined && cluster.members.isAlive(found.claim.instance);
    if (elsewhere && found.claim.connectedAt > connectedAt) {
      held.revision = 0;
      this.#placedElsewhere(deviceId, found, found.revision);
      return;
    }
    await this.#claim(held);
  }
}
