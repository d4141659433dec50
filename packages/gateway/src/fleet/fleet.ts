/**
 * Which devices exist and where they are connected: records, names, tags, presence, tool catalogues, drift of tools, and
 * their persistence. The newest connection of a device wins. The fleet includes the devices of other nodes:
 * `DeviceHandle` reaches a device on any node.
 */
import type { DeviceDetail, DeviceList, DeviceQuery, GatewayEvent, ToolList } from "@tendon/protocol";
import { hasScope, maySee, Policy, type Principal, requireScope } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import type { DeviceSession } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import type { Store } from "../store/store.ts";
import { untilListed } from "./await-listing.ts";
import { Connections } from "./connections.ts";
import { DeviceAdmin } from "./device-admin.ts";
import { DevicePersistence } from "./device-persistence.ts";
import type { DeviceRecord } from "./device-record.ts";
import { Drift } from "./drift/drift.ts";
import type { FirmwareUpgrades } from "./firmware-upgrades.ts";
import { KnownDevices } from "./known-devices.ts";
import type { LocalHandleDependencies } from "./local-handle.ts";
import { McpPassthrough } from "./mcp-passthrough.ts";
import { RemoteDevices, type RemoteDevicesDependencies } from "./remote-devices.ts";
import { ReplicaSync } from "./replica-sync.ts";
import { SessionFinder } from "./session-finder.ts";
import { ToolFinder } from "./tool-finder.ts";
import { toolListOf } from "./tool-list.ts";
import type { ToolsetChanges } from "./toolset-changes.ts";

export { refuseArguments } from "./argument-problems.ts";
export { untilListed } from "./await-listing.ts";
export { type ApprovedPair, type CredentialPair, pinnedGeneration } from "./credential-pair.ts";
export type { DeviceAdmin } from "./device-admin.ts";
export type {
  ControlAction,
  ControlOptions,
  ControlRunner,
  LocalCall,
  OutgoingCall,
  Sent,
  SpecialTools,
} from "./device-handle.ts";
export type { DeviceRecord } from "./device-record.ts";
export { FirmwareUpgrades, upgradeFailed, upgradeTimeout } from "./firmware-upgrades.ts";
export type { Names, ToolAddress } from "./names.ts";
export { refuseProgram } from "./refuse-program.ts";
export { kindOfTransport } from "./stored-fields.ts";

export interface FleetDependencies {
  readonly node: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Store;
  readonly access: Config["access"];
  readonly local: Omit<LocalHandleDependencies, "node">;
  readonly upgrades: FirmwareUpgrades;
  /** Ends the calls that wait for a device that is to be deleted. */
  readonly cancelCalls: (id: string) => Promise<void>;
  /** Removes what other modules store about a deleted device. */
  readonly forgetDevice: (id: string) => void;
  /** A device of this node that calls wait for has listed its tools. */
  readonly onListed: (id: string) => void;
  /** A function, because the toolset is created after the fleet, from its devices. */
  readonly toolset: () => ToolsetChanges;
}

export class Fleet {
  readonly devices: KnownDevices;
  /** Receives the sessions of connected devices. */
  readonly connections: Connections;
  /** Changes of devices by people and by provisioning. */
  readonly admin: DeviceAdmin;
  /** Applies the changes of devices that other nodes report. */
  readonly replicas: ReplicaSync;
  readonly drift: Drift;
  /** The access rules for these devices. */
  readonly policy: Policy;
  readonly passthrough: McpPassthrough;
  readonly finder: ToolFinder;
  readonly #dependencies: FleetDependencies;
  readonly #persistence: DevicePersistence;
  #remote: RemoteDevices | undefined;
  readonly #sessionFinder: SessionFinder;
  /** The programs of the configuration. */
  readonly #programs = new Set<string>();

  private constructor(dependencies: FleetDependencies) {
    this.#dependencies = dependencies;
    const { node, clock, events, store, upgrades, local } = dependencies;
    const toolset: ToolsetChanges = {
      connected: (id) => dependencies.toolset().connected(id),
      disconnected: (id) => dependencies.toolset().disconnected(id),
      changed: (id) => dependencies.toolset().changed(id),
    };
    this.devices = new KnownDevices(node, clock);
    const { devices } = this;
    const find = (id: string) => devices.get(id);
    const findDevice = (principal: Principal, reference: string) => devices.require(principal, reference);
    this.#persistence = new DevicePersistence({
      store,
      clock,
      online: () => this.sessions(),
      onFault: (device, error) => events.notStored(device, error),
      pinsOf: (device) => this.drift.pinsOf(device),
      onAliasTaken: (record, holder, parts) => this.replicas.resolveAliasConflict(record, holder, parts),
    });
    const persistence = this.#persistence;
    this.drift = new Drift({
      clock,
      quarantine: dependencies.access.quarantine,
      find: findDevice,
      save: (record) => persistence.saveWithTools(record),
      onAccepted: ({ id, catalogue }, tool) => {
        const { size: toolCount, complete } = catalogue;
        events.toolsChanged(id, { toolCount, complete, accepted: [tool] });
        toolset.changed(id);
      },
    });
    const { drift } = this;
    this.policy = new Policy(
      dependencies.access,
      (reference) => devices.idOf(reference),
      (device, tool) => drift.isQuarantined(device, tool),
    );
    this.passthrough = new McpPassthrough(devices.records, findDevice);
    this.finder = new ToolFinder(devices, this.policy);
    this.connections = new Connections({
      clock,
      events,
      drift,
      toolset,
      upgrades,
      persistence,
      passthrough: this.passthrough,
      local: { ...local, node },
      recordOf: (id, kind) => devices.recordOf(id, kind),
      find,
      onListed: dependencies.onListed,
    });
    this.#sessionFinder = new SessionFinder(this.connections.sessionIds, (principal, id) =>
      devices.visible(principal, id),
    );
    const attachRemote = (id: string) => this.#remote?.attach(id);
    this.replicas = new ReplicaSync({
      clock,
      store,
      devices,
      drift,
      toolset,
      upgrades,
      persistence,
      attachRemote,
    });
    this.admin = new DeviceAdmin({
      store,
      devices,
      toolset,
      persistence,
      replicas: this.replicas,
      cancelCalls: dependencies.cancelCalls,
      forgetDevice: dependencies.forgetDevice,
      isProgramHere: (id) => this.#programs.has(id),
    });
  }

  /** Opens the fleet with all devices of the store. */
  static async open(dependencies: FleetDependencies): Promise<Fleet> {
    const fleet = new Fleet(dependencies);
    const { devices, names, toolLists, toolPins } = dependencies.store;
    fleet.devices.names.restoreAliases(await devices.aliases());
    const lists = await toolLists.all();
    for (const stored of await devices.all()) {
      const list = lists.get(stored.id);
      const { catalogue } = fleet.devices.restore(stored);
      if (list !== undefined) catalogue.restore(list);
    }
    for await (const page of names.pages()) fleet.devices.names.restore(page);
    fleet.drift.restore(await toolPins.all(), (device, tool) =>
      fleet.devices.get(device)?.catalogue.find(tool),
    );
    return fleet;
  }

  /** Connects the fleet to the other nodes of the cluster. */
  async join(cluster: Cluster, trackWork: RemoteDevicesDependencies["trackWork"]): Promise<RemoteDevices> {
    const { clock, events } = this.#dependencies;
    const remote = await RemoteDevices.open({
      clock,
      events,
      cluster,
      trackWork,
      find: (id) => this.devices.get(id),
      reload: (id) => this.replicas.reload(id),
      addUnsaved: (id, { kind, connectedAt }) => this.replicas.applyOnline(id, kind, connectedAt),
      connected: (id, handle) => {
        this.#dependencies.toolset().connected(id);
        this.passthrough.connected(id, handle);
      },
      disconnected: (id) => this.#dependencies.toolset().disconnected(id),
    });
    this.#remote = remote;
    for (const { handle } of this.devices.records.values())
      if (handle?.local !== undefined) remote.claim(handle.local);
    this.connections.joinCluster(remote);
    this.#sessionFinder.join(cluster);
    this.#persistence.broadcastWith((id, removed) =>
      cluster.broadcasts.sendAndWait({ kind: removed ? "device_gone" : "device", id }),
    );
    return remote;
  }

  /** Resolves when every change has been written to the store. */
  async close(): Promise<void> {
    await this.#persistence.close();
  }

  list(principal: Principal, query: DeviceQuery): DeviceList {
    requireScope(principal, "read");
    return this.devices.list(principal, query);
  }

  /** The device of an id, in any spelling, or an alias. Throws `device_unknown`. */
  find(principal: Principal, reference: string): DeviceRecord {
    return this.devices.require(principal, reference);
  }

  /** The device as this node knows it, without asking the node that holds it. */
  device(principal: Principal, reference: string): DeviceDetail {
    const record = this.find(principal, reference);
    requireScope(principal, "read");
    return record.detail();
  }

  /** With the figures of the node that holds the device, if that node answers. */
  async inspect(principal: Principal, reference: string): Promise<DeviceDetail> {
    const record = this.find(principal, reference);
    requireScope(principal, "read");
    const { handle } = record;
    const inspection = await handle?.inspect().catch(() => undefined);
    return record.detail(record.handle === handle ? inspection : undefined);
  }

  /** Waits for the first tool list of a device that has just connected. */
  async tools(principal: Principal, reference: string, withUserTools: boolean): Promise<ToolList> {
    const record = this.find(principal, reference);
    requireScope(principal, "read");
    await untilListed(this.#dependencies.clock, record);
    return toolListOf(record, principal, this.policy, this.drift, withUserTools);
  }

  /** The id for a reference: an id in any spelling, or an alias. Returns an unknown reference unchanged. */
  idOf(reference: string): string {
    return this.devices.idOf(reference);
  }

  /** Whether a principal may see this device. */
  visible(principal: Principal, id: string): boolean {
    return this.devices.visible(principal, id);
  }

  /** The tags of a device, whether or not it has ever connected. */
  tagsOf(id: string): readonly string[] {
    return this.devices.get(id)?.tags ?? [];
  }

  /**
   * Whether a principal may see this event. `device.pending` needs the scope `provision`. An event without a device is
   * only for principals that may see every device.
   */
  showsEvent(
    principal: Principal,
    { type, device: id = "" }: Pick<GatewayEvent, "type" | "device">,
  ): boolean {
    if (type === "device.pending")
      return hasScope(principal, "provision") && maySee(principal, { id, tags: this.tagsOf(id) });
    if (type === "audit.recorded" || type === "webhook.disabled")
      return hasScope(principal, "admin") && principal.devices === undefined;
    if (!hasScope(principal, "read")) return false;
    return id === "" ? principal.devices === undefined : this.visible(principal, id);
  }

  /** The device of a session on any node, if the principal may see it. For messages that name only the session. */
  async deviceOfSession(principal: Principal, sessionId: string): Promise<string | undefined> {
    return await this.#sessionFinder.find(principal, sessionId);
  }

  /** The connections of this node. */
  sessions(): DeviceSession[] {
    return [...this.devices.records.values()].flatMap(({ handle }) => handle?.local?.session ?? []);
  }

  /** Whether the device is connected to another node. */
  isRemote(id: string): boolean {
    const record = this.devices.get(id);
    return record?.handle !== undefined && !record.isLocal;
  }

  /** Adds a device of the configuration before it connects. */
  expect(id: string, kind: DeviceSession["kind"], callTimeoutMs?: number): void {
    this.devices.recordOf(id, kind).callTimeoutMs = callTimeoutMs;
    if (kind === "process") this.#programs.add(id);
  }
}
