/** What the nodes of a cluster report about NATS and about their clocks: readiness, warnings, metrics and log lines. */
import type { Clock, Timer } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Events, type Metrics, maxClockSkewMs } from "../events/events.ts";

export interface ClusterHealthDependencies {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly events: Events;
}

const checkEveryMs = 2_000;
/** Losses within this time of one another are one incident. */
const incidentMs = 60_000;

export class ClusterHealth {
  readonly #dependencies: ClusterHealthDependencies;
  readonly #timer: Timer;
  /** Nodes whose clocks differ. */
  readonly #skewed = new Set<string>();
  #problem: string | undefined;
  #lostAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: ClusterHealthDependencies) {
    this.#dependencies = dependencies;
    this.#timer = dependencies.clock.every(checkEveryMs, () => this.#check());
  }

  stop(): void {
    this.#timer.cancel();
  }

  eventsLost(count: number): void {
    const now = this.#dependencies.clock.monotonic();
    this.#dependencies.events.eventsLost(count, now - this.#lostAt > incidentMs);
    this.#lostAt = now;
  }

  unready(): string | undefined {
    const { connected, storageProblem } = this.#dependencies.cluster;
    if (!connected) return "NATS cannot be reached";
    return storageProblem === undefined ? undefined : `NATS does not store: ${storageProblem}`;
  }

  /** The clocks that differ; the node is ready nevertheless. */
  warning(): string | undefined {
    const differing = this.#skews().filter(({ aheadMs }) => Math.abs(aheadMs) >= maxClockSkewMs);
    if (differing.length === 0) return undefined;
    const texts = differing.map(({ node, aheadMs }) => {
      const seconds = Math.round(Math.abs(aheadMs) / 1_000);
      return `${node} is ${seconds} s ${aheadMs > 0 ? "ahead" : "behind"}`;
    });
    return `the clocks of the nodes differ: ${texts.join(", ")}`;
  }

  measure({ eventsWaiting, clockSkew }: Metrics): void {
    eventsWaiting.set(this.#dependencies.cluster.eventsWaiting);
    const largest = Math.max(0, ...this.#skews().map(({ aheadMs }) => Math.abs(aheadMs)));
    clockSkew.set(Math.round(largest) / 1_000);
  }

  #skews(): { readonly instance: string; readonly node: string; readonly aheadMs: number }[] {
    const { members } = this.#dependencies.cluster;
    const names = new Map(members.alive().map(({ instance, node }) => [instance, node]));
    return [...members.clocks.skews()].map(([instance, aheadMs]) => ({
      instance,
      node: names.get(instance) ?? instance,
      aheadMs,
    }));
  }

  #check(): void {
    const { cluster, events } = this.#dependencies;
    const problem = cluster.storageProblem;
    if ((problem === undefined) !== (this.#problem === undefined)) events.clusterStorage(problem);
    this.#problem = problem;
    for (const { instance, node, aheadMs } of this.#skews()) {
      const differs = Math.abs(aheadMs) >= maxClockSkewMs;
      if (differs === this.#skewed.has(instance)) continue;
      if (differs) this.#skewed.add(instance);
      else this.#skewed.delete(instance);
      events.clockSkew(node, aheadMs);
    }
  }
}
