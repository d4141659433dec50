/**
 * The other nodes, over NATS: the members, a directory of which node holds which device, and requests to nodes (`rpc`).
 * Broadcasts carry changes to all nodes, and events are replicated. HTTP requests are forwarded to the node they belong
 * to. This module only transports messages; fleet/ and the other modules define their meaning.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import { Broadcasts } from "./broadcasts.ts";
import { Directory, type Placed } from "./directory.ts";
import { EventReplication } from "./event-replication.ts";
import { Forwarding } from "./forwarding.ts";
import { type Member, Members } from "./members.ts";
import { NatsLink } from "./nats-link.ts";
import { Rpc } from "./rpc.ts";

export type { Broadcast } from "./broadcasts.ts";
export type { Claim, Directory, Placed } from "./directory.ts";
export type { ForwardedAnswer, ForwardedRequest } from "./forwarding.ts";
export type { Member } from "./members.ts";
export { readNatsAddress } from "./nats-address.ts";
export type { Callbacks, Caller, Rpc } from "./rpc.ts";

export interface ClusterSettings {
  readonly url: string;
  readonly clock: Clock;
  /** The machine's name. */
  readonly node: string;
  readonly version: string;
  readonly devices: () => number;
  readonly moving: () => number;
  readonly onState: (state: "connected" | "disconnected", detail: string) => void;
  readonly onFault: (detail: string) => void;
  readonly onEventsLost: (count: number) => void;
}

type Placing = (device: string, placed: Placed | undefined, revision: number) => void;

export class Cluster {
  readonly instance: string;
  /** The machine's name. */
  readonly node: string;
  readonly rpc: Rpc;
  readonly members: Members;
  readonly broadcasts: Broadcasts;
  readonly forwarding: Forwarding;
  readonly #link: NatsLink;
  readonly #settings: ClusterSettings;
  #directory: Directory | undefined;
  #replication: Pick<EventReplication<unknown>, "resume" | "stop" | "waiting" | "refusal"> | undefined;
  #draining = false;
  #onReturn: () => Promise<void> = async () => {};
  #onAway: () => void = () => {};

  private constructor(link: NatsLink, settings: ClusterSettings) {
    const { clock } = settings;
    this.#link = link;
    this.#settings = settings;
    this.instance = `${settings.node.replaceAll(/[^a-zA-Z0-9-]/g, "-").slice(0, 32)}_${randomUUID().slice(0, 8)}`;
    this.node = settings.node;
    const startedAt = clock.now();
    this.rpc = new Rpc({
      link,
      clock,
      instance: this.instance,
      ageOf: (instance, at) => this.members.clocks.ageOf(instance, at),
      members: () => this.members.alive().map(({ instance }) => instance),
      onNoResponders: (instance) => this.members.suspect(instance),
    });
    this.members = new Members({
      link,
      clock,
      self: () => ({
        instance: this.instance,
        node: settings.node,
        version: settings.version,
        startedAt,
        devices: settings.devices(),
        moving: settings.moving(),
        draining: this.#draining,
      }),
    });
    this.forwarding = new Forwarding({
      link,
      rpc: this.rpc,
      onLost: (listener) =>
        this.members.onChange((instance, alive) => {
          if (!alive) listener(instance);
        }),
    });
    this.broadcasts = new Broadcasts({
      link,
      clock,
      instance: this.instance,
      others: () => this.members.alive().length - 1,
    });
    this.members.onChange((instance, alive) => {
      if (alive) return;
      if (this.members.mayReturn(instance)) this.rpc.nodeLost(instance);
      else this.rpc.nodeLeft(instance);
    });
    link.onState((connected) => {
      settings.onState(connected ? "connected" : "disconnected", link.server);
      if (connected) void this.#returned();
      else this.#onAway();
    });
  }

  static async join(settings: ClusterSettings): Promise<Cluster> {
    const link = await NatsLink.open(settings.url, `tendon ${settings.node}`, settings.clock);
    return new Cluster(link, settings);
  }

  get connected(): boolean {
    return this.#link.connected;
  }

  get server(): string {
    return this.#link.server;
  }

  get directory(): Directory {
    if (this.#directory === undefined) throw new TypeError("the directory is used before it is open");
    return this.#directory;
  }

  nodes(): Member[] {
    return this.members.alive();
  }

  /** Sets the listener for a lost connection to NATS. */
  onAway(listener: () => void): void {
    this.#onAway = listener;
  }

  /** `onReturn` is called after a reconnection to NATS, when the missed changes have been applied. */
  async openDirectory(onPlaced: Placing, onReturn: () => Promise<void>): Promise<void> {
    this.#onReturn = onReturn;
    this.#directory = await Directory.open({
      link: this.#link,
      onPlaced,
      onFault: this.#settings.onFault,
    });
  }

  async openEventReplication<Event>(
    keep: number,
    onEvent: (sequence: number, event: Event) => void,
  ): Promise<Pick<EventReplication<Event>, "publish" | "remove">> {
    const replication = await EventReplication.open<Event>({
      link: this.#link,
      clock: this.#settings.clock,
      keep,
      onEvent,
      onFault: this.#settings.onFault,
      onLost: this.#settings.onEventsLost,
    });
    this.#replication = replication;
    return replication;
  }

  /** Events of this node that NATS has not stored yet. */
  get eventsWaiting(): number {
    return this.#replication?.waiting ?? 0;
  }

  /** Why NATS stores no events or no connections, such as a full disk; `undefined` if it does. */
  get storageProblem(): string | undefined {
    if (!this.connected) return undefined;
    return this.#directory?.refusal ?? this.#replication?.refusal;
  }

  /** Announces that this node accepts no new devices. */
  drain(): void {
    this.#draining = true;
    this.members.beat();
  }

  /** Resolves when NATS has received all messages of this node and delivered those for it. */
  async flush(): Promise<void> {
    await this.#link.flush();
  }

  async leave(): Promise<void> {
    this.members.sayGoodbye();
    await this.#replication?.stop();
    this.#directory?.stop();
    this.rpc.stop();
    this.broadcasts.stop();
    this.members.stop();
    await this.flush().catch(() => {});
    await this.#link.close();
  }

  async #returned(): Promise<void> {
    try {
      this.members.beat();
      await this.#directory?.reopen();
      await this.#replication?.resume();
      await this.#onReturn();
    } catch (error) {
      this.#settings.onFault(String(error));
    }
  }
}
