/**
 * Which devices exist and where they are connected: records, names, tags, presence, tool catalogues, drift of tools, and
 * their persistence. The newest connection of a device wins. Devices that other nodes hold are known here too:
 * `DeviceHandle` reaches a device on whichever node it is.
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
import type { CallRunner, ControlRunner } from "./device-handle.ts";
import { DevicePersistence } from "./device-persistence.ts";
import type { DeviceRecord } from "./device-record.ts";
import { Drift } from "./drift/drift.ts";
import type { FirmwareUpgrades } from "./firmware-upgrades.ts";
import { KnownDevices } from "./known-devices.ts";
import { McpPassthrough } from "./mcp-passthrough.ts";
import { RemoteDevices, type RemoteDevicesNeeds } from "./remote-devices.ts";
import { ReplicaSync } from "./replica-sync.ts";
import { ToolFinder } from "./tool-finder.ts";
import { toolListOf } from "./tool-list.ts";
import type { ToolsetChanges } from "./toolset-changes.ts";

export { refuseArguments } from "./argument-problems.ts";
export { untilListed } from "./await-listing.ts";
export type { ApprovedPair, CredentialPair } from "./credential-pair.ts";
export type { DeviceAdmin } from "./device-admin.ts";
export type {
  CallRunner,
  ControlAction,
  ControlOptions,
  ControlRunner,
  OutgoingCall,
  Sent,
} from "./device-handle.ts";
export { type DeviceRecord, refuseProgram } from "./device-record.ts";
export { FirmwareUpgrades, upgradeFailed, upgradeOverdue } from "./firmware-upgrades.ts";
export type { Names, ToolAddress } from "./names.ts";

export interface FleetDependencies {
  readonly node: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Store;
  readonly access: Config["access"];
  readonly calls: CallRunner;
  readonly control: ControlRunner;
  readonly upgrades: FirmwareUpgrades;
  /** Forgets what the gateway remembers of a device that was deleted. */
  readonly forgetDevice: (id: string) => void;
  /** Made after the fleet, because it is made of the fleet's devices. */
  readonly toolset: () => ToolsetChanges;
}

const sessionTopic = "device-of-session";
const findSessionMs = 1_000;

export class Fleet {
  readonly devices: KnownDevices;
  /** Where sessions of devices come in. */
  readonly connections: Connections;
  /** Where people and provisioning change devices. */
  readonly admin: DeviceAdmin;
  /** What other nodes report of devices. */
  readonly replicas: ReplicaSync;
  readonly drift: Drift;
  /** The rules, applied to these devices. */
  readonly policy: Policy;
  readonly passthrough: McpPassthrough;
  readonly finder: ToolFinder;
  readonly #dependencies: FleetDependencies;
  readonly #persistence: DevicePersistence;
  #remote: RemoteDevices | undefined;
  #findSession: (sessionId: string) => Promise<string | undefined> = async () => undefined;

  private constructor(dependencies: FleetDependencies) {
    this.#dependencies = dependencies;
    const { node, clock, events, store, upgrades, calls, control } = dependencies;
    const toolset: ToolsetChanges = {
      came: (id) => dependencies.toolset().came(id),
      left: (id) => dependencies.toolset().left(id),
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
      onFault: (device, error) => events.notRemembered(device, error),
      pinsOf: (device) => this.drift.pinsOf(device),
      aliasTaken: (record, holder, parts) => this.replicas.aliasTaken(record, holder, parts),
    });
    const persistence = this.#persistence;
    this.drift = new Drift({
      clock,
      quarantine: dependencies.access.quarantine,
      find: findDevice,
      remember: (record) => persistence.withTools(record),
      accepted: ({ id, catalogue }, tool) => {
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
      local: { node, calls, control },
      recordOf: (id, kind) => devices.recordOf(id, kind),
      find,
    });
    const shown = (id: string) => this.#remote?.shown(id);
    this.replicas = new ReplicaSync({ clock, store, devices, drift, toolset, upgrades, persistence, shown });
    this.admin = new DeviceAdmin({
      store,
      devices,
      toolset,
      persistence,
      replicas: this.replicas,
      forgetDevice: dependencies.forgetDevice,
    });
  }

  /** With every device that the store has. */
  static async open(dependencies: FleetDependencies): Promise<Fleet> {
    const fleet = new Fleet(dependencies);
    const { devices, names, toolLists, toolPins } = dependencies.store;
    const given = [];
    for await (const page of names.pages()) given.push(...page);
    fleet.devices.names.restore(await devices.aliases(), given);
    const lists = await toolLists.all();
    for (const stored of await devices.all()) {
      const list = lists.get(stored.id);
      const { catalogue } = fleet.devices.restore(stored);
      if (list !== undefined) catalogue.restore(list);
    }
    fleet.drift.restore(await toolPins.all(), (device, tool) =>
      fleet.devices.get(device)?.catalogue.find(tool),
    );
    return fleet;
  }

  /** Makes this node one of several. */
  async join(cluster: Cluster, count: RemoteDevicesNeeds["count"]): Promise<RemoteDevices> {
    const { clock, events } = this.#dependencies;
    const remote = await RemoteDevices.open({
      clock,
      events,
      cluster,
      count,
      find: (id) => this.devices.get(id),
      reload: (id) => this.replicas.readAgain(id),
      heardOf: (id, { connectedAt }) => this.replicas.heardOf(id, connectedAt),
      came: (id, handle) => {
        this.#dependencies.toolset().came(id);
        this.passthrough.connected(id, handle);
      },
      left: (id) => this.#dependencies.toolset().left(id),
    });
    this.#remote = remote;
    for (const { handle } of this.devices.records.values())
      if (handle?.local !== undefined) remote.hold(handle.local);
    this.connections.shareWith(remote);
    this.#findSession = findSessionsOf(cluster, this.connections);
    this.#persistence.shareWith((id, gone) =>
      cluster.broadcasts.tell({ kind: gone ? "device_gone" : "device", id }),
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

  /** As this node knows it. */
  device(principal: Principal, reference: string): DeviceDetail {
    const record = this.find(principal, reference);
    requireScope(principal, "read");
    return record.detail();
  }

  /** With the figures of the node that holds the device, where that node answers. */
  async inspect(principal: Principal, reference: string): Promise<DeviceDetail> {
    const record = this.find(principal, reference);
    requireScope(principal, "read");
    const { handle } = record;
    const inspection = await handle?.inspect().catch(() => undefined);
    return record.detail(record.handle === handle ? inspection : undefined);
  }

  /** Waits for the first list of a device that has just connected: an empty one would be wrong. */
  async tools(principal: Principal, reference: string, withUserTools: boolean): Promise<ToolList> {
    const record = this.find(principal, reference);
    requireScope(principal, "read");
    await untilListed(this.#dependencies.clock, record);
    return toolListOf(record, principal, this.policy, this.drift, withUserTools);
  }

  /** The id that a reference means: an id in any spelling or an alias. A name without a device stays as it is. */
  idOf(reference: string): string {
    return this.devices.idOf(reference);
  }

  /** Whether a principal may know of this device. */
  visible(principal: Principal, id: string): boolean {
    return this.devices.visible(principal, id);
  }

  /** The tags of a device, whether or not it has ever connected. */
  tagsOf(id: string): readonly string[] {
    return this.devices.get(id)?.tags ?? [];
  }

  /**
   * Whether a principal may see this event. A board that waits for approval concerns those who may approve it. An event
   * of no single device is for principals that see every device.
   */
  showsEvent(
    principal: Principal,
    { type, device: id = "" }: Pick<GatewayEvent, "type" | "device">,
  ): boolean {
    if (type === "device.pending")
      return hasScope(principal, "provision") && maySee(principal, { id, tags: this.tagsOf(id) });
    if (!hasScope(principal, "read")) return false;
    return id === "" ? principal.devices === undefined : this.visible(principal, id);
  }

  /** The device whose session has this id now, on whichever node, for messages that name only that. */
  async deviceOfSession(principal: Principal, sessionId: string): Promise<string | undefined> {
    const id = this.connections.deviceOf(sessionId) ?? (await this.#findSession(sessionId));
    return id !== undefined && this.visible(principal, id) ? id : undefined;
  }

  /** The connections of this node. */
  sessions(): DeviceSession[] {
    return [...this.devices.records.values()].flatMap(({ handle }) => handle?.local?.session ?? []);
  }

  /** A device that is named in the settings is known before it connects. */
  expect(id: string, kind: DeviceSession["kind"]): void {
    this.devices.recordOf(id, kind);
  }
}

/** [APP-2] A message may name a device by its session alone: where this node has no such session, the others are asked. */
function findSessionsOf(cluster: Cluster, connections: Connections) {
  const { rpc } = cluster;
  rpc.serveNode(sessionTopic, async (id) => connections.deviceOf(String(id)) ?? null);
  return async (id: string): Promise<string | undefined> => {
    const others = cluster.nodes().filter(({ instance }) => instance !== cluster.instance);
    const options = { timeoutMs: findSessionMs };
    const asked = others.map(({ instance }) =>
      rpc.askNode(instance, sessionTopic, id, options).catch(() => null),
    );
    return (await Promise.all(asked)).find((device) => typeof device === "string");
  };
}
