/**
 * The outgoing endpoints of the configuration. One node holds each [END-8]: a lease in the store names it, and another node
 * takes over when that one has stopped.
 */
import { createHmac } from "node:crypto";
import type { EndpointView } from "@tendon/protocol";
import type { Timer } from "../../clock.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { OutgoingEndpoint as Settings } from "../../endpoint-settings.ts";
import type { HeldLeases } from "../../store/store.ts";
import { type OutgoingDependencies, OutgoingEndpoint } from "./outgoing-endpoint.ts";

export interface OutgoingEndpointsDependencies extends Omit<OutgoingDependencies, "dial" | "mayConnect"> {
  readonly settings: readonly Settings[];
  /** The same on every node. */
  readonly secret: string;
  readonly leases: HeldLeases;
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
    const inner: OutgoingDependencies = {
      ...dependencies,
      dial: (work) => this.#dial(work),
      // Without the database a node keeps what it holds.
      mayConnect: (id) => this.#holds(id).catch(() => true),
    };
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
    await Promise.all(held.map(({ id }) => this.#dependencies.leases.release(id)));
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

  /** A single node holds all, also while its database is away. */
  async #holds(id: string): Promise<boolean> {
    const { cluster, leases } = this.#dependencies;
    return cluster === undefined || (await leases.check(id)) === "held";
  }

  async #dial(work: () => Promise<void>): Promise<void> {
    if (this.#dialling >= dialsAtOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#dialling += 1;
    try {
      await work();
    } finally {
      // Its place goes to the one that has waited longest.
      const next = this.#waiting.shift();
      if (next === undefined) this.#dialling -= 1;
      else next();
    }
  }
}
