/**
 * The events of all nodes in one order, in a JetStream stream. Its sequence numbers are the ids of events on every node,
 * so that a client can resume at any node. Each node holds the newest events in memory. While NATS is unavailable,
 * events wait here, bounded, and are published afterwards.
 */

import { randomUUID } from "node:crypto";
import { type ConsumerMessages, DeliverPolicy, DiscardPolicy, StorageType } from "@nats-io/jetstream";
import { isObject } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { type NatsLink, once } from "./nats-link.ts";

export interface EventReplicationDependencies<Event> {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly keep: number;
  readonly onEvent: (sequence: number, event: Event) => void;
  readonly onFault: (detail: string) => void;
  /** Events were dropped. */
  readonly onLost: (count: number) => void;
}

interface Unsent {
  readonly id: string;
  /** The event as JSON. */
  readonly text: string;
}

/** All devices of one node may disconnect at once. */
const maxUnsent = 200_000;
const keptNanoseconds = 24 * 60 * 60 * 1_000_000_000;
const repeatsNanoseconds = 120 * 1_000_000_000;
const ackMs = 3_000;
/**
 * Events of this time are published together. Publishing each alone costs the nodes and the server more than the call
 * itself, and a delay of ten milliseconds is not noticeable.
 */
const gatherMs = 10;
const batchSize = 100;
const retryMs = 500;

export class EventReplication<Event> {
  readonly #dependencies: EventReplicationDependencies<Event>;
  readonly #subject: string;
  readonly #stream: string;
  /** In order: published and not yet acknowledged, or waiting for NATS. */
  #unsent: Unsent[] = [];
  /** Why the stream did not store the last events. */
  #refusal: string | undefined;
  #sending = false;
  #gathering: Timer | undefined;
  #messages: ConsumerMessages | undefined;
  #last = 0;
  #stopped = false;

  private constructor(dependencies: EventReplicationDependencies<Event>) {
    this.#dependencies = dependencies;
    this.#subject = dependencies.link.subject("events");
    this.#stream = `${dependencies.link.name}_events`;
  }

  /** Resolves when `onEvent` was called for all stored events. */
  static async open<Event>(
    dependencies: EventReplicationDependencies<Event>,
  ): Promise<EventReplication<Event>> {
    const replication = new EventReplication(dependencies);
    await replication.#prepare();
    await replication.#listen();
    return replication;
  }

  /** Events that the stream has not stored yet. */
  get waiting(): number {
    return this.#unsent.length;
  }

  /** Why the stream stores nothing, such as a full disk; `undefined` if it does. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  publish(event: Event): void {
    const text = JSON.stringify(event);
    if (!this.#dependencies.link.fits(text)) {
      this.#dependencies.onLost(1);
      return;
    }
    if (this.#unsent.length >= maxUnsent) {
      this.#unsent.shift();
      this.#dependencies.onLost(1);
    }
    this.#unsent.push({ id: randomUUID(), text });
    if (this.#sending) return;
    this.#gathering ??= this.#dependencies.clock.after(gatherMs, () => {
      this.#gathering = undefined;
      if (!this.#sending) void this.#send();
    });
  }

  /** Deletes stored events. Several nodes may delete the same ones. */
  remove(sequences: readonly number[]): void {
    const { link, onFault } = this.#dependencies;
    const remove = async () => {
      const { streams } = await link.streams();
      for (const sequence of sequences)
        await streams.deleteMessage(this.#stream, sequence, true).catch(() => undefined);
    };
    if (sequences.length > 0) remove().catch((error: unknown) => onFault(messageOf(error)));
  }

  /** Resumes after a lost connection. The stream may be new, so it is consumed again. */
  async resume(): Promise<void> {
    if (this.#stopped) return;
    await this.#messages?.close();
    await this.#prepare();
    await this.#listen();
    if (!this.#sending) void this.#send();
  }

  /** Publishes the remaining events if NATS is connected. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#gathering?.cancel();
    if (this.#dependencies.link.connected) await this.#publishAll(this.#unsent);
    await this.#messages?.close();
  }

  async #prepare(): Promise<void> {
    const { link, keep } = this.#dependencies;
    const manager = await link.streams();
    await manager.streams.add({
      name: this.#stream,
      subjects: [this.#subject],
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      num_replicas: link.replicas,
      max_msgs: keep,
      max_age: keptNanoseconds,
      duplicate_window: repeatsNanoseconds,
    });
  }

  async #listen(): Promise<void> {
    const { link, keep } = this.#dependencies;
    const { state } = await (await link.streams()).streams.info(this.#stream);
    // A stream that was created anew has smaller numbers than the last one seen.
    if (state.last_seq < this.#last) this.#last = 0;
    const start = Math.max(this.#last + 1, state.last_seq - keep + 1, 1);
    const consumer = await link.stream.consumers.get(this.#stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: start,
    });
    const messages = await consumer.consume();
    this.#messages = messages;
    const lastStored = state.last_seq;
    await new Promise<void>((resolve) => {
      if (this.#last >= lastStored || state.messages === 0) resolve();
      void this.#follow(messages, () => {
        if (this.#last >= lastStored) resolve();
      }).finally(resolve);
    });
  }

  async #follow(messages: ConsumerMessages, onEach: () => void): Promise<void> {
    try {
      for await (const message of messages) {
        this.#last = message.seq;
        this.#dependencies.onEvent(message.seq, message.json<Event>());
        onEach();
      }
    } catch (error) {
      if (!this.#stopped) this.#dependencies.onFault(messageOf(error));
    }
  }

  /** Sends batches in order, and repeats unacknowledged events. The stream stores an id once. */
  async #send(): Promise<void> {
    this.#sending = true;
    const { link, clock } = this.#dependencies;
    while (this.#unsent.length > 0 && link.connected && !this.#stopped) {
      const batch = this.#unsent.slice(0, batchSize);
      const kept = await this.#publishAll(batch);
      if (kept.size > 0) this.#refusal = undefined;
      this.#unsent = this.#unsent.filter((each) => !kept.has(each));
      const pauseMs = kept.size < batch.length ? retryMs : this.#unsent.length < batchSize ? gatherMs : 0;
      if (pauseMs > 0 && this.#unsent.length > 0) {
        await new Promise<void>((resolve) => {
          clock.after(pauseMs, resolve);
        });
      }
    }
    this.#sending = false;
  }

  /** Resolves with the events that the stream acknowledged. */
  #publishAll(batch: readonly Unsent[]): Promise<Set<Unsent>> {
    const { link, clock } = this.#dependencies;
    const kept = new Set<Unsent>();
    if (batch.length === 0) return Promise.resolve(kept);
    return new Promise((resolve) => {
      let open = batch.length;
      const done = () => {
        timer.cancel();
        for (const request of requests) request.forget();
        resolve(kept);
      };
      const timer = clock.after(ackMs, done);
      const requests = batch.map((each) => {
        const take = (outcome: string, answer: unknown) => {
          const stored = outcome === "answered" && isObject(answer) && typeof answer["seq"] === "number";
          if (stored) kept.add(each);
          else this.#refusal = refusalOf(answer);
          open -= 1;
          if (open === 0) done();
        };
        return link.ask(this.#subject, each.text, take, once(each.id));
      });
    });
  }
}

function refusalOf(answer: unknown): string {
  const error = isObject(answer) ? answer["error"] : undefined;
  const detail = isObject(error) ? error["description"] : undefined;
  return typeof detail === "string" ? detail : "JetStream does not answer";
}
