/**
 * Reads what an earlier run has left on the broker, before this one publishes. If the discovery prefix has changed since,
 * it also finds the messages below the old one.
 */
import type { BrokerConnection } from "./broker-connection.ts";
import { isOurs } from "./clean.ts";
import { configTopic, gatewaySlug, root } from "./discovery.ts";
import { EarlierMessages, prefixTopic } from "./earlier-messages.ts";

export interface TakeoverDependencies {
  readonly broker: Pick<BrokerConnection, "subscribe" | "unsubscribe" | "publish">;
  readonly prefix: string;
  /** This run of the gateway. */
  readonly run: string;
  readonly earlier: EarlierMessages;
  /** Everything was read. */
  readonly done: () => void;
  readonly problem: (detail: string) => void;
}

export class Takeover {
  readonly #dependencies: TakeoverDependencies;
  readonly #syncTopic: string;
  readonly #oldTopics = new Set<string>();
  #step: "current" | "old" | "done" = "current";

  constructor(dependencies: TakeoverDependencies) {
    this.#dependencies = dependencies;
    const { broker, prefix, run } = dependencies;
    this.#syncTopic = `${root}/owner/read/${run}`;
    broker.subscribe([this.#syncTopic], 1);
    // A broker drops acknowledged messages beyond its queue, and a large fleet has many.
    broker.subscribe(EarlierMessages.filters(prefix), 0);
    this.#sync();
  }

  /** Returns whether the message was one of these. */
  message(topic: string, payload: Buffer, isRetained: boolean): boolean {
    if (topic === this.#syncTopic) this.#read();
    else if (this.#step === "done" || !isRetained) return false;
    else if (this.#isOld(topic)) this.#old(topic, payload);
    else if (topic.startsWith(`${this.#dependencies.prefix}/device/`))
      this.#dependencies.earlier.discovery(topic, payload);
    else if (topic.startsWith(`${root}/`)) this.#dependencies.earlier.message(topic, payload);
    else return false;
    return true;
  }

  /** The broker sends retained messages before the one that is published after the subscription. */
  #sync(): void {
    this.#dependencies.broker.publish(this.#syncTopic, this.#step, { qos: 1, retain: false });
  }

  #read(): void {
    const { broker, prefix, earlier, done } = this.#dependencies;
    if (this.#step === "current" && earlier.prefix !== undefined && earlier.prefix !== prefix) {
      this.#step = "old";
      broker.subscribe([`${earlier.prefix}/device/+/config`], 0);
      this.#sync();
      return;
    }
    if (this.#step === "done") return;
    // The broker would return everything that this gateway publishes.
    broker.unsubscribe([...EarlierMessages.filters(prefix), this.#syncTopic, ...this.#removeOld()]);
    this.#step = "done";
    done();
  }

  /** Returns the filter of the old messages. */
  #removeOld(): string[] {
    const { broker, prefix, earlier, problem } = this.#dependencies;
    const retained = { qos: 1, retain: true } as const;
    const old = this.#step === "old" ? earlier.prefix : undefined;
    for (const topic of this.#oldTopics) broker.publish(topic, "", retained);
    // The gateway itself is always there, unless the broker does not let this user read it.
    if (old === undefined || this.#oldTopics.has(configTopic(old, gatewaySlug)))
      broker.publish(prefixTopic, prefix, retained);
    else
      problem(
        `messages below the old discovery prefix \`${old}\` could not be read: allow it, or run \`tendon home-assistant clean --prefix ${old}\``,
      );
    return old === undefined ? [] : [`${old}/device/+/config`];
  }

  #isOld(topic: string): boolean {
    const { earlier } = this.#dependencies;
    return this.#step === "old" && topic.startsWith(`${earlier.prefix ?? ""}/device/`);
  }

  #old(topic: string, payload: Buffer): void {
    if (isOurs(topic, payload)) this.#oldTopics.add(topic);
  }
}
