/** Connects the modules of this node with those of other nodes. Loaded only if the configuration names a cluster. */
import { isObject, limits } from "@tendon/protocol";
import type { Authentication, Spent, Tokens } from "../access/access.ts";
import type { Console, Webhooks } from "../agent/agent.ts";
import type { Erasure } from "../calls/calls.ts";
import type { Clock } from "../clock.ts";
import { type Broadcast, Cluster } from "../cluster/cluster.ts";
import { type Events, ReplicatedEvents, type UnnumberedEvent } from "../events/events.ts";
import { kindOfTransport } from "../fleet/fleet.ts";
import type { HttpDevices } from "../http-devices/http-devices.ts";
import type { OpenedProvisioning } from "../provisioning/provisioning.ts";
import type { Store } from "../store/store.ts";
import { Balance, type NodeBalance } from "./balance.ts";
import { ClusterHealth } from "./cluster-health.ts";
import { Isolation } from "./isolation.ts";
import type { OpenedServices } from "./services.ts";

export interface ClusterDependencies {
  readonly url: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly node: string;
  readonly version: string;
  /** Whether nodes even out their devices without being asked. */
  readonly balance: boolean;
}

type Sessions = Console["authentication"]["sessions"];

interface ClusterParts {
  readonly services: OpenedServices;
  readonly store: Pick<Store, "onAvailable" | "settings">;
  readonly tokens: Tokens;
  readonly provisioning: Pick<OpenedProvisioning, "credentials" | "refresh">;
  readonly authentication: Authentication;
  /** The sign-ins to the console. */
  readonly sessions: Sessions;
  readonly erasure: Erasure;
  readonly webhooks: Webhooks;
  readonly httpDevices: HttpDevices;
  /** Closes the connections of a device to this node. */
  readonly cut: (device: string, reason: string) => void;
}

export interface JoinedCluster {
  readonly cluster: Cluster;
  /** Starts the exchange of devices, sessions and changes with the other nodes. */
  open(parts: ClusterParts): Promise<void>;
  readonly health: ClusterHealth;
  /** Whether the other nodes have lost this one, and it has no connection to NATS. */
  isolated(): boolean;
  /** Evens out the devices of the nodes; begins with `open`. */
  balance(): Promise<NodeBalance[]>;
  /** Stops sending boards away for balance: the node is stopping. */
  stopBalance(): void;
  /** Leaves the cluster after the directory has released all devices of this node. */
  leave(): Promise<void>;
}

export async function joinCluster({
  url,
  clock,
  events,
  node,
  version,
  balance: auto,
}: ClusterDependencies): Promise<JoinedCluster> {
  let devices = () => 0;
  let balance: Balance | undefined;
  const cluster = await Cluster.join({
    url,
    clock,
    node,
    version,
    devices: () => devices(),
    moving: () => balance?.moving ?? 0,
    onState: (state, server) => events.clusterLink(state, server),
    onFault: (detail) => events.clusterFault(detail),
    onEventsLost: (count) => health.eventsLost(count),
  });
  const health: ClusterHealth = new ClusterHealth({ clock, cluster, events });
  const shared = new ReplicatedEvents({
    publish: (event) => replication.publish(event),
    remove: (sequences) => replication.remove(sequences),
  });
  let applyEvent: (event: UnnumberedEvent) => void = () => {};
  const replication = await cluster.openEventReplication<UnnumberedEvent>(
    limits.eventsKept.max,
    (sequence, event) => {
      // First, so that listeners do not get events of devices that this node does not know yet.
      applyEvent(event);
      events.deliver(shared.arrived(sequence, event));
    },
  );
  events.useReplicated(shared);
  let settled = async () => {};
  let stopSharing = () => {};
  let isolation: Isolation | undefined;
  return {
    cluster,
    health,
    async open(parts) {
      const { services, tokens } = parts;
      devices = () => services.fleet.sessions().length;
      applyEvent = ({ type, device, at, data }) => {
        if (type === "device.online" && device !== undefined)
          services.fleet.replicas.applyOnline(device, kindOfTransport(data["transport"]), at);
        if (type === "device.offline" && device !== undefined)
          services.fleet.replicas.applyOffline(device, offlineSince(at, data), String(data["reason"]));
      };
      stopSharing = parts.authentication.shareWith((spent) =>
        cluster.broadcasts.send({ kind: "spent", spent }),
      );
      tokens.shareWith((id) => cluster.broadcasts.sendAndWait({ kind: "token", id }));
      parts.webhooks.shareWith((id) => cluster.broadcasts.sendAndWait({ kind: "webhook", id }));
      cluster.members.onChange((_instance, alive) => {
        if (alive) return;
        void parts.webhooks.nodeLost();
        void parts.httpDevices.claimAll();
      });
      cluster.broadcasts.onBroadcast((broadcast) => applyBroadcast(parts, broadcast));
      parts.store.onAvailable(() => void cluster.broadcasts.retryFailed());
      parts.provisioning.refresh.readWith((id) => deviceChanged(parts, id));
      await shareSessions(cluster, parts.sessions);
      const remote = await services.join(cluster);
      settled = () => remote.settled();
      parts.httpDevices.shareWith((id) => cluster.broadcasts.sendAndWait({ kind: "http_device", id }));
      const boards = () => services.fleet.sessions().filter(({ kind }) => kind === "esp32");
      isolation = new Isolation({ clock, cluster, settings: parts.store.settings, events, boards });
      const hasMoved = (id: string) => services.fleet.isRemote(id);
      balance = new Balance({ clock, cluster, events, boards, hasMoved, auto });
    },
    isolated: () => isolation?.isolated === true,
    balance: async () => (await balance?.run()) ?? [],
    stopBalance: () => balance?.stop(),
    async leave() {
      stopSharing();
      isolation?.stop();
      health.stop();
      await settled();
      await cluster.leave();
    },
  };
}

/** The event of a device that was lost with its node comes later than the loss. */
function offlineSince(at: number, { since }: { readonly [key: string]: unknown }): number {
  return typeof since === "string" ? Date.parse(since) : at;
}

async function applyBroadcast(parts: ClusterParts, broadcast: Broadcast): Promise<void> {
  switch (broadcast.kind) {
    case "token":
      await parts.tokens.reload(broadcast.id);
      return;
    case "webhook":
      await parts.webhooks.reload(broadcast.id);
      return;
    case "http_device":
      await parts.httpDevices.reload(broadcast.id);
      return;
    case "device":
      await deviceChanged(parts, broadcast.id);
      return;
    case "device_gone":
      parts.provisioning.credentials.apply(broadcast.id, undefined);
      await parts.services.fleet.replicas.applyDeletion(broadcast.id);
      return;
    case "history_gone":
      await parts.erasure.here(broadcast);
      return;
    case "session":
      parts.sessions.applyOpened(broadcast);
      return;
    case "session_ended":
      parts.sessions.applyEnded(broadcast.key, broadcast.why);
      return;
    case "status":
      if (isObject(broadcast.value))
        parts.services.fleet.admin.find(broadcast.id)?.setStatus(broadcast.at, broadcast.value);
      return;
    case "muted":
      parts.services.mutedLevels.applyRemote(broadcast.device, broadcast.tool, broadcast.level);
      return;
    case "spent":
      // Safe: only nodes of this cluster send this broadcast, with the value from `shareWith`.
      parts.authentication.applySpent(broadcast.spent as Spent);
      return;
    default:
      broadcast satisfies never;
  }
}

/** Makes a sign-in on one node valid on all nodes. The store has all sessions; broadcasts are faster. */
async function shareSessions(cluster: Cluster, sessions: Sessions): Promise<void> {
  sessions.shareWith({
    opened: (session) => cluster.broadcasts.sendAndWait({ kind: "session", ...session }),
    ended: (key, why) => void cluster.broadcasts.sendAndWait({ kind: "session_ended", key, why }),
  });
  // Loaded again, because a session opened between the first load and `shareWith` is in neither.
  await sessions.load();
}

/** A device whose credentials another node has changed may be connected here with the old ones. */
async function deviceChanged({ services, provisioning, cut }: ClusterParts, id: string): Promise<void> {
  const { admin, replicas } = services.fleet;
  const before = admin.find(id)?.pair;
  const now = await replicas.reload(id);
  if (provisioning.credentials.applyChange(id, before, now))
    cut(id, "its credentials were revoked or replaced");
}
