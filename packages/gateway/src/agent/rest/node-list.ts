import type { NodeList } from "@tendon/protocol";
import { isoTime } from "../../clock.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { Store } from "../../store/store.ts";
import { version } from "../../version.ts";
import type { Services } from "../services.ts";

export interface NodeListDependencies {
  readonly cluster: Cluster | undefined;
  readonly store: Store;
  readonly services: Services;
  readonly node: string;
  readonly nodeId: string;
  readonly startedAt: number;
}

/** The nodes that this one knows, and the state of storage and NATS. */
export function nodeList({
  cluster,
  store,
  services,
  node,
  nodeId,
  startedAt,
}: NodeListDependencies): NodeList {
  const { kind, unavailable } = store.state;
  const alone = {
    instance: nodeId,
    node,
    version,
    startedAt,
    devices: services.fleet.sessions().length,
    moving: 0,
    draining: false,
  };
  const members = cluster?.nodes() ?? [alone];
  return {
    nodes: members.map((member) => ({
      id: member.instance,
      name: member.node,
      self: member.instance === (cluster?.instance ?? nodeId),
      version: member.version,
      startedAt: isoTime(member.startedAt),
      devices: member.devices,
      moving: member.moving ?? 0,
      draining: member.draining,
    })),
    engines: {
      storage: { kind, connected: !unavailable },
      cluster: cluster === undefined ? null : { server: cluster.server, connected: cluster.connected },
    },
  };
}
