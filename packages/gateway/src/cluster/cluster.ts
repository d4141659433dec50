/**
 * Reaching a device that another node holds. Nodes meet on NATS: a directory says who holds which device, a courier
 * carries questions to that node and answers back, news tells the others what to read again, and the exchange puts
 * the events of all nodes into one order. What any of it means is the registry's to know.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import { Courier } from "./courier.ts";
import { Directory, type Placed } from "./directory.ts";
import { EventExchange } from "./event-exchange.ts";
import { Forwarding } from "./forwarding.ts";
import { type Member, Members } from "./members.ts";
import { NatsLink } from "./nats-link.ts";
import { NewsDesk } from "./news.ts";

export type { Courier } from "./courier.ts";
export type { Claim, Directory, Placed } from "./directory.ts";
export type { ForwardedAnswer, ForwardedRequest } from "./forwarding.ts";
export type { Member } from "./members.ts";
export { readNatsAddress } from "./nats-address.ts";
export type { News } from "./news.ts";

export interface ClusterSettings {
  readonly url: string;
  readonly clock: Clock;
  /** The machine's name. */
  readonly node: string;
  readonly version: string;
  readonly devices: () => number;
  readonly onState: (state: "connected" | "disconnected", detail: string) => void;
  readonly onFault: (detail: string) => void;
}

type Placing = (device: string, placed: Placed | undefined, revision: number) => void;

export class Cluster {
  readonly instance: string;
  /** The machine's name. */
  readonly node: string;
  readonly courier: Courier;
  readonly members: Members;
  readonly news: NewsDesk;
  readonly forwarding: Forwarding;
  readonly #link: NatsLink;
  readonly #settings: ClusterSettings;
  #directory: Directory | undefined;
  #exchange: { resume(): Promise<void>; stop(): Promise<void>; readonly lost: number } | undefined;
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
    this.courier = new Courier({ link, clock, instance: this.instance });
    this.members = new Members({
      link,
      clock,
      self: () => ({
        instance: this.instance,
        node: settings.node,
        version: settings.version,
        startedAt,
        devices: settings.devices(),
        draining: this.#draining,
      }),
    });
    this.forwarding = new Forwarding({
      link,
      courier: this.courier,
      onLost: (listener) =>
        this.members.onChange((instance, alive) => {
          if (!alive) listener(instance);
        }),
    });
    this.news = new NewsDesk({
      link,
      clock,
      instance: this.instance,
      others: () => this.members.alive().length - 1,
    });
    this.members.onChange((instance, alive) => {
      if (!alive) this.courier.nodeLost(instance);
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

  /** Told when NATS is gone. */
  onAway(listener: () => void): void {
    this.#onAway = listener;
  }

  /** `onReturn`: NATS was away and is back, and what was missed has been told again. */
  async openDirectory(onPlaced: Placing, onReturn: () => Promise<void>): Promise<void> {
    this.#onReturn = onReturn;
    this.#directory = await Directory.open({
      link: this.#link,
      onPlaced,
      onFault: this.#settings.onFault,
    });
  }

  async openExchange<Event>(
    keep: number,
    onEvent: (sequence: number, event: Event) => void,
  ): Promise<{ publish(event: Event): void; readonly lost: number }> {
    const exchange = await EventExchange.open<Event>({
      link: this.#link,
      clock: this.#settings.clock,
      keep,
      onEvent,
      onFault: this.#settings.onFault,
    });
    this.#exchange = exchange;
    return exchange;
  }

  /** Others see that this node takes no new devices. */
  drain(): void {
    this.#draining = true;
    this.members.beat();
  }

  /** Resolves when NATS has taken all that was said here, and has told what it had to tell. */
  async flush(): Promise<void> {
    await this.#link.flush();
  }

  async leave(): Promise<void> {
    this.members.sayGoodbye();
    await this.#exchange?.stop();
    this.#directory?.stop();
    this.courier.stop();
    this.news.stop();
    this.members.stop();
    await this.flush().catch(() => {});
    await this.#link.close();
  }

  async #returned(): Promise<void> {
    try {
      this.members.beat();
      await this.#directory?.reopen();
      await this.#exchange?.resume();
      await this.#onReturn();
    } catch (error) {
      this.#settings.onFault(String(error));
    }
  }
}
