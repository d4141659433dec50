/**
 * Constructs the modules between devices and clients (fleet, calls, toolset) and connects them. Sessions of devices come
 * in through `connections`; callers come in as principals. Every call takes the one pipeline in `calls/`.
 */
import type {
  Actions,
  DeviceDetail,
  DeviceList,
  DeviceQuery,
  GatewayEvent,
  JsonObject,
  ToolList,
} from "@tendon/protocol";
import { hasScope, maySee, Policy, type Principal, requireScope } from "../access/access.ts";
import {
  Approvals,
  Calls,
  type CallsDependencies,
  Control,
  ControlSteps,
  Dispatch,
  type DispatchDependencies,
  FanOut,
  History,
  Idempotency,
  MuteMemory,
  PhotoAccess,
  type PhotoShelf,
  untilListed,
} from "../calls/calls.ts";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import type { DeviceSession } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import {
  Connections,
  DeviceAdmin,
  DevicePersistence,
  Drift,
  KnownDevices,
  McpPassthrough,
  RemoteDevices,
  ReplicaSync,
  ToolFinder,
  toolListOf,
} from "../fleet/fleet.ts";
import type { Store } from "../store/store.ts";
import { Toolset, type ToolsetSettings } from "../toolset/toolset.ts";

export interface RegistryNeeds
  extends Omit<CallsDependencies, "history" | "policy" | "approvals" | "findDevice"> {
  readonly camera: DispatchDependencies["camera"];
  readonly store: Store;
  readonly access: Config["access"];
  /** The name of a principal that is known by its id. */
  readonly nameOf: (principalId: string) => string;
  readonly clock: Clock;
  readonly events: Events;
  readonly actions: Actions;
  readonly idMark: string;
  /** This run of this process, and whether another one still is. */
  readonly run: string;
  readonly isAlive: (run: string) => boolean;
  readonly shelf: PhotoShelf;
  readonly agents: ToolsetSettings;
}

export class Registry {
  /** Where sessions of devices come in. */
  readonly connections: Connections;
  /** Where people and provisioning change what is known of them. */
  readonly book: DeviceAdmin;
  readonly calls: Calls;
  readonly dispatch: Dispatch;
  readonly fanOut: FanOut;
  readonly idempotency: Idempotency;
  readonly control: Control;
  readonly history: History;
  readonly toolset: Toolset;
  readonly finder: ToolFinder;
  readonly approvals: Approvals;
  readonly drift: Drift;
  readonly album: PhotoAccess;
  readonly passthrough: McpPassthrough;
  /** What other nodes tell this one of devices. */
  readonly elsewhere: ReplicaSync;
  readonly muted: MuteMemory;
  readonly #policy: Policy;
  readonly #needs: RegistryNeeds;
  readonly #devices: KnownDevices;
  readonly #remembering: DevicePersistence;
  #others: RemoteDevices | undefined;
  #findSession: (sessionId: string) => Promise<string | undefined> = async () => undefined;
  #mentionStatus: (id: string, at: number, value: JsonObject) => void = () => {};

  private constructor(needs: RegistryNeeds) {
    this.#needs = needs;
    this.#devices = new KnownDevices(needs.node, needs.clock);
    this.#remembering = new DevicePersistence({
      store: needs.store,
      clock: needs.clock,
      online: () => this.sessions(),
      onFault: (device, error) => needs.events.notRemembered(device, error),
      pinsOf: (device) => this.drift.pinsOf(device),
      aliasTaken: (record, holder, parts) => this.elsewhere.aliasTaken(record, holder, parts),
    });
    const find = (principal: Principal, reference: string) => this.#devices.require(principal, reference);
    this.drift = new Drift({
      clock: needs.clock,
      quarantine: needs.access.quarantine,
      find,
      remember: (record) => this.#remembering.withTools(record),
      accepted: ({ id, catalogue }, tool) => {
        const { size: toolCount, complete } = catalogue;
        needs.events.toolsChanged(id, { toolCount, complete, accepted: [tool] });
        this.toolset.changed(id);
      },
    });
    const { drift } = this;
    const policy = new Policy(
      needs.access,
      (reference) => this.idOf(reference),
      (device, tool) => drift.isQuarantined(device, tool),
    );
    this.#policy = policy;
    this.approvals = new Approvals({ ...needs, visible: (principal, id) => this.visible(principal, id) });
    const { approvals } = this;
    const statusOf: DispatchDependencies["statusOf"] = (record, value) => {
      const at = needs.clock.now();
      record.rememberStatus(at, value);
      this.#mentionStatus(record.id, at, value);
    };
    this.muted = new MuteMemory(needs.store, (device, error) => needs.events.notRemembered(device, error));
    const { muted } = this;
    const carriedOut: DispatchDependencies["carriedOut"] = (device, tool) => muted.forget(device, tool);
    const { calls: history } = needs.store;
    this.calls = new Calls({ ...needs, policy, approvals, history, findDevice: find });
    this.dispatch = new Dispatch({ ...needs, statusOf, carriedOut });
    const steps = new ControlSteps(needs.clock, muted);
    this.fanOut = new FanOut({
      ...needs,
      policy,
      approvals,
      calls: this.calls,
      targets: (principal, target) => this.#devices.targets(principal, target),
    });
    this.toolset = new Toolset({
      ...needs.agents,
      clock: needs.clock,
      names: this.#devices.names,
      devices: this.#devices.records,
      shows: (principal, record) => this.#devices.shows(principal, record),
      nearDevices: (principal, reference) => this.#devices.near(principal, reference),
      access: (principal, record, tool) => policy.accessTo(principal, record, tool).access,
    });
    this.finder = new ToolFinder(this.#devices, policy);
    this.passthrough = new McpPassthrough(this.#devices.records, find);
    this.connections = new Connections({
      ...needs,
      local: { node: needs.node, calls: this.dispatch, control: steps },
      passthrough: this.passthrough,
      upgrades: this.dispatch.upgrades,
      drift,
      remembering: this.#remembering,
      toolset: this.toolset,
      recordOf: (id, kind) => this.#devices.recordOf(id, kind),
      find: (id) => this.#devices.get(id),
    });
    this.elsewhere = new ReplicaSync({
      ...needs,
      devices: this.#devices,
      remembering: this.#remembering,
      drift,
      toolset: this.toolset,
      upgrades: this.dispatch.upgrades,
      shown: (id) => this.#others?.shown(id),
    });
    this.book = new DeviceAdmin({
      store: needs.store,
      devices: this.#devices,
      remembering: this.#remembering,
      toolset: this.toolset,
      elsewhere: this.elsewhere,
      muted,
    });
    this.album = new PhotoAccess(needs.shelf, find);
    this.idempotency = new Idempotency({
      ...needs,
      onFault: (error) => needs.events.notRemembered("a repeated request", error),
    });
    this.history = new History({
      calls: needs.store.calls,
      traces: this.calls.traces,
      settle: () => needs.events.settle(),
      idOf: (reference) => this.idOf(reference),
      visible: (principal, id) => this.visible(principal, id),
    });
    this.control = new Control({
      ...needs,
      calls: this.calls,
      steps,
      findDevice: find,
    });
  }

  /** With everything that earlier runs knew. */
  static async open(needs: RegistryNeeds): Promise<Registry> {
    const registry = new Registry(needs);
    const { devices, names, toolLists, toolPins } = needs.store;
    const given = [];
    for await (const page of names.pages()) given.push(...page);
    registry.#devices.names.restore(await devices.aliases(), given);
    const lists = await toolLists.all();
    for (const stored of await devices.all()) {
      const list = lists.get(stored.id);
      const { catalogue } = registry.#devices.restore(stored);
      if (list !== undefined) catalogue.restore(list);
    }
    registry.drift.restore(await toolPins.all(), (device, tool) =>
      registry.#devices.get(device)?.catalogue.find(tool),
    );
    registry.toolset.restored();
    await registry.muted.restore();
    return registry;
  }

  /** Makes this node one of several. */
  async join(cluster: Cluster): Promise<RemoteDevices> {
    const others = await RemoteDevices.open({
      ...this.#needs,
      cluster,
      count: (work) => this.calls.inFlight.count(work),
      find: (id) => this.#devices.get(id),
      reload: (id) => this.elsewhere.readAgain(id),
      heardOf: (id, { connectedAt }) => this.elsewhere.heardOf(id, connectedAt),
      came: (id, handle) => {
        this.toolset.came(id);
        this.passthrough.connected(id, handle);
      },
      left: (id) => this.toolset.left(id),
    });
    this.#others = others;
    for (const { handle } of this.#devices.records.values())
      if (handle?.local !== undefined) others.hold(handle.local);
    this.connections.shareWith(others);
    this.#mentionStatus = (id, at, value) => cluster.broadcasts.mention({ kind: "status", id, at, value });
    this.muted.shareWith((device, tool, level) =>
      cluster.broadcasts.mention({ kind: "muted", device, tool, level }),
    );
    this.#remembering.shareWith((id, gone) =>
      cluster.broadcasts.tell({ kind: gone ? "device_gone" : "device", id }),
    );
    return others;
  }

  /** Refuses new calls; resolves when the running ones have ended. */
  async drain(): Promise<void> {
    const drained = this.calls.drain();
    this.dispatch.upgrades.stop();
    await drained;
  }

  /** Resolves when all that is known has been written down. */
  async close(): Promise<void> {
    await Promise.all([this.#remembering.close(), this.muted.close()]);
  }

  list(principal: Principal, query: DeviceQuery): DeviceList {
    requireScope(principal, "read");
    return this.#devices.list(principal, query);
  }

  /** Throws `device_unknown`; gives its id. */
  require(principal: Principal, reference: string): string {
    return this.#devices.require(principal, reference).id;
  }

  device(principal: Principal, reference: string): DeviceDetail {
    const record = this.#devices.require(principal, reference);
    requireScope(principal, "read");
    return record.detail();
  }

  /** The same with what only the node that holds it knows; what could not be asked is shown as it was last known. */
  async look(principal: Principal, reference: string): Promise<DeviceDetail> {
    const record = this.#devices.require(principal, reference);
    requireScope(principal, "read");
    const { handle } = record;
    const inspection = await handle?.inspect().catch(() => undefined);
    return record.detail(record.handle === handle ? inspection : undefined);
  }

  /** Waits for the first listing of a device that has just come: an empty list would be a lie. */
  async tools(principal: Principal, reference: string, withUserTools: boolean): Promise<ToolList> {
    const record = this.#devices.require(principal, reference);
    requireScope(principal, "read");
    await untilListed(this.#needs.clock, record);
    return toolListOf(record, principal, this.#policy, this.drift, withUserTools);
  }

  /** The id somebody means, by id in any spelling or by alias; a name that is nobody's stays what it is. */
  idOf(reference: string): string {
    return this.#devices.idOf(reference);
  }

  /** Whether somebody may know of this device at all. */
  visible(principal: Principal, id: string): boolean {
    return this.#devices.visible(principal, id);
  }

  /** The tags of a device, whether or not it has ever connected. */
  tagsOf(id: string): readonly string[] {
    return this.#devices.get(id)?.tags ?? [];
  }

  /**
   * Whether somebody may hear of this event. A board that waits is not known yet: it concerns who lets it in. What
   * concerns many devices is for those who see all of them.
   */
  tells(principal: Principal, { type, device: id = "" }: Pick<GatewayEvent, "type" | "device">): boolean {
    if (type === "device.pending")
      return hasScope(principal, "provision") && maySee(principal, { id, tags: this.tagsOf(id) });
    if (!hasScope(principal, "read")) return false;
    return id === "" ? principal.devices === undefined : this.visible(principal, id);
  }

  /** The device whose session has this id now, on whatever node, for messages that name only that. */
  async deviceOfSession(principal: Principal, sessionId: string): Promise<string | undefined> {
    const id = this.connections.deviceOf(sessionId) ?? (await this.#findSession(sessionId));
    return id !== undefined && this.visible(principal, id) ? id : undefined;
  }

  /** How sessions of other nodes are found. */
  findSessionsBy(find: (sessionId: string) => Promise<string | undefined>): void {
    this.#findSession = find;
  }

  /** The connections there are on this node. */
  sessions(): DeviceSession[] {
    return [...this.#devices.records.values()].flatMap(({ handle }) => handle?.local?.session ?? []);
  }

  /** A device that is named in the settings is known before it is there. */
  expect(id: string, kind: DeviceSession["kind"]): void {
    this.#devices.recordOf(id, kind);
  }
}
