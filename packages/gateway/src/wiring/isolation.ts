/**
 * Lets the boards of a node go that is cut off from NATS, so that they connect elsewhere. A node alone cannot tell whether
 * NATS is down or only its own way there is: without NATS every node serves its own boards, and letting them go would
 * not help. So the others mark a silent node in the database, and a node without NATS reads whether it is marked.
 */
import { isObject } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type DeviceSession, drainBoards } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import type { Store } from "../store/store.ts";

export interface IsolationDependencies {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly settings: Pick<Store["settings"], "get" | "set" | "remove" | "startingWith">;
  readonly events: Events;
  readonly boards: () => readonly DeviceSession[];
}

const prefix = "lost_node:";
const checkEveryMs = 500;
const letGoMs = 1_000;
/** Clocks may differ, and this node may notice later than the others. */
const toleranceMs = 60_000;
const keptMs = 24 * 60 * 60_000;
const reason = "this node has lost its connection to the others";

export class Isolation {
  readonly #dependencies: IsolationDependencies;
  readonly #stops: (() => void)[] = [];
  readonly #timer: Timer;
  #checking = false;
  #isolated = false;
  /** When the connection to NATS was first seen missing. */
  #awaySince: number | undefined;

  constructor(dependencies: IsolationDependencies) {
    this.#dependencies = dependencies;
    const { clock, cluster, settings } = dependencies;
    this.#stops.push(
      cluster.members.onChange((instance, alive) => {
        if (alive) void settings.remove(`${prefix}${instance}`).catch(() => {});
        else if (cluster.members.mayReturn(instance)) void this.#mark(instance);
      }),
    );
    this.#timer = clock.every(checkEveryMs, () => {
      if (this.#checking) return;
      this.#checking = true;
      void this.#check().finally(() => {
        this.#checking = false;
      });
    });
  }

  get isolated(): boolean {
    return this.#isolated;
  }

  stop(): void {
    this.#timer.cancel();
    for (const stop of this.#stops) stop();
  }

  async #mark(instance: string): Promise<void> {
    const { clock, settings } = this.#dependencies;
    try {
      await settings.set(`${prefix}${instance}`, { at: clock.now() });
      for (const [old, value] of await settings.startingWith(prefix)) {
        const at = isObject(value) ? Number(value["at"]) : 0;
        if (clock.now() - at > keptMs) await settings.remove(`${prefix}${old}`);
      }
    } catch {
      // Without the database a node that is cut off keeps its boards.
    }
  }

  async #check(): Promise<void> {
    const { clock, cluster, settings, events, boards } = this.#dependencies;
    if (cluster.connected) {
      this.#isolated = false;
      this.#awaySince = undefined;
      return;
    }
    this.#awaySince ??= clock.now();
    if (!this.#isolated) {
      const mark = await settings.get(`${prefix}${cluster.instance}`).catch(() => undefined);
      // A mark of an earlier time says nothing about this one.
      const markedAt = isObject(mark) ? Number(mark["at"]) : Number.NEGATIVE_INFINITY;
      if (!(markedAt > this.#awaySince - toleranceMs) || cluster.connected) return;
      events.isolated(boards().length);
      this.#isolated = true;
    }
    // Other nodes cannot report arrivals here, so that only the pauses between the groups count.
    await drainBoards(boards(), { clock, reason, withinMs: letGoMs, hasMoved: () => false });
  }
}
