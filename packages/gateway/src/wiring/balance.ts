/**
 * Evens out the devices of the nodes. After a rolling restart the node that was restarted last is almost empty, because
 * boards stay where they are. A node with more than its share sends the excess away gently; the load balancer gives them
 * to the nodes with the fewest connections.
 */
import { isObject } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Cluster, Member } from "../cluster/cluster.ts";
import { type DeviceSession, drainBoards } from "../device/device.ts";
import type { Events } from "../events/events.ts";

export interface BalanceDependencies {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly events: Events;
  readonly boards: () => readonly DeviceSession[];
  readonly hasMoved: (deviceId: string) => boolean;
  /** Whether nodes even themselves out without being asked. */
  readonly auto: boolean;
}

/** What one node does. */
export interface NodeBalance {
  readonly id: string;
  readonly name: string;
  readonly devices: number;
  readonly target: number;
  readonly moving: number;
}

const topic = "balance";
const answerMs = 2_000;
/** A difference that is not worth a reconnection: this share, and a few boards. */
const tolerance = { share: 0.05, boards: 2 };
const leastMs = 10_000;
const perBoardMs = 25;
const mostMs = 600_000;
const autoEveryMs = 60_000;
/** If the boards come back to the same node, there is no load balancer that spreads them. */
const autoPauseMs = 60 * 60_000;

export class Balance {
  readonly #dependencies: BalanceDependencies;
  readonly #stops: (() => void)[] = [];
  readonly #timer: Timer;
  readonly #stopped = new AbortController();
  #moving = 0;
  #changedAt: number;
  #autoFrom = Number.NEGATIVE_INFINITY;

  constructor(dependencies: BalanceDependencies) {
    this.#dependencies = dependencies;
    const { clock, cluster, auto } = dependencies;
    this.#changedAt = clock.monotonic();
    this.#stops.push(
      cluster.rpc.serveNode(topic, async (body) => this.#start(isObject(body) ? Number(body["excess"]) : 0)),
      cluster.members.onChange(() => {
        this.#changedAt = clock.monotonic();
      }),
    );
    this.#timer = clock.every(autoEveryMs, () => {
      if (auto) this.#balanceSelf();
    });
  }

  /** Boards of this node that are being sent away. */
  get moving(): number {
    return this.#moving;
  }

  stop(): void {
    this.#timer.cancel();
    this.#stopped.abort();
    for (const stop of this.#stops) stop();
  }

  /** Asks every node with more than its share to send the excess away; resolves when they have begun. */
  async run(): Promise<NodeBalance[]> {
    const { cluster } = this.#dependencies;
    const members = takers(cluster);
    return await Promise.all(
      members.map(async (member): Promise<NodeBalance> => {
        const { instance, node, devices } = member;
        const { target, excess } = shareOf(member, members);
        const moving = excess === 0 ? 0 : await this.#ask(instance, excess);
        return { id: instance, name: node, devices, target, moving };
      }),
    );
  }

  async #ask(instance: string, excess: number): Promise<number> {
    const { cluster } = this.#dependencies;
    if (instance === cluster.instance) return this.#start(excess);
    const moving = await cluster.rpc.askNode(instance, topic, { excess }, { timeoutMs: answerMs });
    return typeof moving === "number" ? moving : 0;
  }

  #balanceSelf(): void {
    const { clock, cluster } = this.#dependencies;
    const now = clock.monotonic();
    if (!cluster.connected || now - this.#changedAt < autoEveryMs || now < this.#autoFrom) return;
    const members = takers(cluster);
    const self = members.find(({ instance }) => instance === cluster.instance);
    if (self !== undefined) this.#start(shareOf(self, members).excess);
  }

  /** Returns the number of boards that move now; one round at a time. */
  #start(excess: number): number {
    if (this.#moving > 0 || !(excess > 0)) return this.#moving;
    const leaving = this.#dependencies.boards().slice(0, excess);
    this.#moving = leaving.length;
    void this.#move(leaving).finally(() => {
      this.#moving = 0;
    });
    return leaving.length;
  }

  async #move(leaving: readonly DeviceSession[]): Promise<void> {
    const { clock, events, hasMoved } = this.#dependencies;
    const withinMs = Math.min(mostMs, Math.max(leastMs, leaving.length * perBoardMs));
    const { signal } = this.#stopped;
    const reason = "this node has more than its share of the devices";
    const sent = await drainBoards(leaving, { clock, reason, withinMs, hasMoved, signal });
    const moved = leaving.filter(({ deviceId }) => hasMoved(deviceId)).length;
    if (moved < sent / 2) this.#autoFrom = clock.monotonic() + autoPauseMs;
    events.balanced(sent, moved);
  }
}

function takers(cluster: Cluster): Member[] {
  return cluster.nodes().filter(({ draining }) => !draining);
}

function shareOf({ devices }: Member, members: readonly Member[]) {
  const total = members.reduce((sum, member) => sum + member.devices, 0);
  const target = Math.ceil(total / members.length);
  const excess = devices - target;
  const ignored = Math.max(tolerance.boards, target * tolerance.share);
  return { target, excess: excess > ignored ? excess : 0 };
}
