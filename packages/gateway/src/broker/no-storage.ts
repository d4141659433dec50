/**
 * Replaces aedes' storage. Sessions end with their connection, and the gateway itself keeps retained messages, so there
 * is nothing to store. What a client must know of its own connection, the packet ids of QoS 2 in flight, ends with it:
 * the storage of aedes 2.0.0-beta.1 keeps them, with their messages, under the client id for ever, and takes the first
 * message after a reconnect for a repetition.
 */
import { Readable } from "node:stream";
import { limits } from "@tendon/protocol";
import type { Client } from "aedes";

interface Identified {
  readonly messageId: number;
}

const nothing = Promise.resolve();
const noMessages: readonly never[] = [];
const noSubscriptions = Promise.resolve(noMessages);

export class NoStorage {
  /** Packet ids of messages with QoS 2 that were received and not yet released. */
  readonly #unreleased = new WeakMap<Client, Set<number>>();

  /** aedes requires an async function. */
  async setup(): Promise<void> {}

  // At every CONNECT.

  cleanSubscriptions(): Promise<void> {
    return nothing;
  }

  delWill(): Promise<void> {
    return nothing;
  }

  /** aedes passes it to `pipeline`, which takes any iterable. Streams cost more. */
  outgoingStream(): Iterable<never> {
    return noMessages;
  }

  // Messages with QoS 1 and 2.

  subscriptionsByTopic(): Promise<readonly never[]> {
    return noSubscriptions;
  }

  outgoingEnqueueCombi(): Promise<void> {
    return nothing;
  }

  /** For a client that acknowledges what it was never sent. */
  outgoingClearMessageId(): Promise<void> {
    return nothing;
  }

  async incomingGetPacket(client: Client, { messageId }: Identified): Promise<Identified> {
    if (this.#unreleased.get(client)?.has(messageId) === true) return { messageId };
    throw new UnknownPacket();
  }

  /** aedes disconnects the client if this fails. */
  async incomingStorePacket(client: Client, { messageId }: Identified): Promise<void> {
    const ids = this.#unreleased.get(client) ?? new Set();
    if (ids.size >= limits.mqttUnreleased.max)
      throw new TooManyUnreleased("too many messages are not released");
    ids.add(messageId);
    this.#unreleased.set(client, ids);
  }

  async incomingDelPacket(client: Client, { messageId }: Identified): Promise<void> {
    this.#unreleased.get(client)?.delete(messageId);
  }

  // Retained messages and wills.

  createRetainedStreamCombi(): Readable {
    return Readable.from(noMessages);
  }

  streamWill(): Iterable<never> {
    return noMessages;
  }
}

class UnknownPacket extends Error {}

class TooManyUnreleased extends Error {}
