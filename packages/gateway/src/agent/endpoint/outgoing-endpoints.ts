/**
 * The outgoing endpoints of the configuration. One node holds each [END-8]: a lease in the store names it, and another node
 * takes over when that one has stopped.
 */
import { createHmac } from "node:crypto";
import { type EndpointView, isObject } from "@tendon/protocol";
import type { Timer } from "../../clock.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { OutgoingEndpoint as Settings } from "../../endpoint-settings.ts";
import type { Store } from "../../store/store.ts";
import { type OutgoingDependencies, OutgoingEndpoint } from "./outgoing-endpoint.ts";

export interface OutgoingEndpointsDependencies extends Omit<OutgoingDependencies, "dial"> {
  readonly settings: readonly Settings[];
  /** The same on every node. */
  readonly secret: string;
  readonly run: string;
  readonly leases: Pick<Store["settings"], "getOrMake" | "exchange" | "remove">;
  readonly cluster: Cluster | undefined;
}

const dialsAtOnce = 3;
const checkEveryMs = 2_000;

export class OutgoingEndpoints {
  readonly #dependencies: OutgoingEndpointsDependencies;
  readonly #endpoints: readonly OutgoingEndpoint[];
  readonly #stops: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  #dialling = 0;
  #timer: Timer | undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(dependencies: OutgoingEndpointsDependencies) {
    this.#dependencies = dependencies;
    const { settings, secret } = dependencies;
    const inner = { ...dependencies, dial: (work: () => Promise<void>) => this.#dial(work) };
    this.#endpoints = settings.map((each) => {
      const id = createHmac("sha256", secret).update(`endpoint ${each.url}`).digest("hex").slice(0, 12);
      return new OutgoingEndpoint(each, id, inner);
    });
  }

  start(): void {
    if (this.#endpoints.length === 0) return;
    const { cluster, clock } = this.#dependencies;
    if (cluster !== undefined) {
      this.#stops.push(
        cluster.members.onChange((_instance, alive) => {
          if (!alive) this.#check();
        }),
      );
      this.#timer = clock.every(checkEveryMs, () => this.#check());
    }
    this.#check();
  }

  /** Those that this node holds. */
  views(): EndpointView[] {
    return this.#endpoints.filter(({ running }) => running).map((endpoint) => endpoint.view());
  }

  warning(): string | undefined {
    const warnings = this.#endpoints.flatMap((endpoint) => endpoint.warning() ?? []);
    return warnings.length === 0 ? undefined : warnings.join("; ");
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const stop of this.#stops) stop();
    await this.#checking;
    const held = this.#endpoints.filter(({ running }) => running);
    for (const endpoint of held) endpoint.stop();
    if (this.#dependencies.cluster === undefined) return;
    const { leases } = this.#dependencies;
    await Promise.all(held.map(({ id }) => leases.remove(leaseOf(id)).catch(() => undefined)));
  }

  #check(): void {
    this.#checking = this.#checking.then(async () => {
      for (const endpoint of this.#endpoints) {
        // Without the database a node keeps what it holds.
        const mine = await this.#holds(endpoint.id).catch(() => endpoint.running);
        if (this.#stopped) return;
        if (mine) endpoint.start();
        else if (endpoint.running) endpoint.stop();
      }
    });
  }

  async #holds(id: string): Promise<boolean> {
    const { cluster, leases, run } = this.#dependencies;
    if (cluster === undefined) return true;
    const key = leaseOf(id);
    const lease = await leases.getOrMake(key, () => ({ owner: run }));
    const owner = isObject(lease) ? String(lease["owner"]) : "";
    if (owner === run) return true;
    return !cluster.members.isAlive(owner) && (await leases.exchange(key, lease, { owner: run }));
  }

  async #dial(work: () => Promise<void>): Promise<void> {
    if (this.#dialling >= dialsAtOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#dialling += 1;
    try {
      await work();
    } finally {
      this.#dialling -= 1;
      this.#waiting.shift()?.();
    }
  }
}

function leaseOf(id: string): string {
  return `endpoint_lease:${id}`;
}
