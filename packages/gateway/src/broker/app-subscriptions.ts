/** The subscriptions of apps. The gateway delivers to them itself, so it keeps their options of MQTT 5 too. */
import { limits } from "@tendon/protocol";
import type { Subscription } from "aedes";
import { isMalformed } from "./client-ids.ts";
import { FilterTree } from "./filter-tree.ts";
import type { AppPeer } from "./peers.ts";

const appRoot = "tendon/";
/** Reason codes of a SUBACK from here on are failures. */
const firstFailure = 128;
/** Values of MQTT 5's Retain Handling. */
const [ONLY_IF_NEW, NEVER] = [1, 2];

export class AppSubscriptions {
  readonly #subscribers = new FilterTree<AppPeer>();
  /** Repeated subscriptions that ask for no retained messages. */
  readonly #repeated = new WeakSet<Subscription>();

  /** Adds the subscription if the app may have it. */
  add(peer: AppPeer, subscription: Subscription): boolean {
    const { topic: filter, rh } = subscription;
    if (!filter.startsWith(appRoot) || isBadFilter(filter)) return false;
    const isNew = !peer.filters.has(filter);
    if (isNew && peer.filters.size >= limits.mqttSubscriptions.max) return false;
    if (!isNew && Number(rh) === ONLY_IF_NEW) this.#repeated.add(subscription);
    this.#setIdentifier(peer, filter, identifierOf(subscription));
    if (isNew) this.#subscribers.add(filter, peer);
    return true;
  }

  remove(peer: AppPeer, filter: string): void {
    if (!peer.filters.has(filter)) return;
    this.#setIdentifier(peer, filter, undefined);
    peer.filters.delete(filter);
    this.#subscribers.delete(filter, peer);
  }

  removeAll(peer: AppPeer): void {
    for (const filter of [...peer.filters.keys()]) this.remove(peer, filter);
  }

  /** The filters among these that were granted and ask for retained messages. */
  wantRetained(subscriptions: readonly Subscription[]): string[] {
    return subscriptions
      .filter(({ qos, rh }) => Number(qos) < firstFailure && Number(rh) !== NEVER)
      .filter((subscription) => !this.#repeated.has(subscription))
      .map(({ topic }) => topic);
  }

  matching(topic: string): ReadonlySet<AppPeer> {
    return this.#subscribers.matching(topic);
  }

  matches(topic: string, peer: AppPeer): boolean {
    return this.#subscribers.matches(topic, peer);
  }

  #setIdentifier(peer: AppPeer, filter: string, identifier: number | undefined): void {
    const earlier = peer.filters.get(filter);
    if (earlier !== undefined) peer.identifiers.delete(filter, earlier);
    if (identifier !== undefined) peer.identifiers.add(filter, identifier);
    peer.filters.set(filter, identifier);
  }
}

export function isBadFilter(filter: string): boolean {
  return filter.length > limits.mqttTopicLength.max || isMalformed(filter);
}

/** aedes sets it from the SUBSCRIBE packet. Its types do not have it. */
function identifierOf(subscription: Subscription): number | undefined {
  const { subscriptionIdentifier } = subscription as { subscriptionIdentifier?: unknown };
  return typeof subscriptionIdentifier === "number" ? subscriptionIdentifier : undefined;
}
