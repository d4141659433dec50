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

export interface EventReplicationNeeds<Event> {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly keep: number;
  readonly onEvent: (sequence: number, event: Event) => void;
  readonly onFault: (detail: string) => void;
}

interface Unsent {
  readonly id: string;
  /** The event as JSON. */
  readonly text: string;
}

/** As many devices as one node may hold could leave at once. */
const waitingMax = 200_000;
const keptNanoseconds = 24 * 60 * 60 * 1_000_000_000;
const repeatsNanoseconds = 120 * 1_000_000_000;
const ackMs = 3_000;
/**
 * Events of so long go out together. Keeping and handing out each by itself costs every node and the server more than
 * the call it tells of, and nobody sees ten milliseconds.
 */
const gatherMs = 10;
const batchSize = 100;
const retryMs = 500;

export class EventReplication<Event> {
  readonly #needs: EventReplicationNeeds<Event>;
  readonly #subject: string;
  readonly #stream: string;
  /** In order: published and not yet acknowledged, or waiting for NATS. */
  #unsent: Unsent[] = [];
  #lost = 0;
  #sending = false;
  #gathering: Timer | undefined;
  #messages: ConsumerMessages | undefined;
  #last = 0;
  #stopped = false;

  private constructor(needs: EventReplicationNeeds<Event>) {
    this.#needs = needs;
    this.#subject = needs.link.subject("events");
    this.#stream = `${needs.link.name}_events`;
  }

  /** Resolves when what is kept of the past has been told. */
  static async open<Event>(needs: EventReplicationNeeds<Event>): Promise<EventReplication<Event>> {
    const replication = new EventReplication(needs);
    await replication.#prepare();
    await replication.#listen();
    return replication;
  }

  /** Events that found no room while NATS was away, or in a message. */
  get lost(): number {
    return this.#lost;
  }

  publish(event: Event): void {
    const text = JSON.stringify(event);
    if (!this.#needs.link.fits(text)) {
      this.#lost += 1;
      return;
    }
    if (this.#unsent.length >= waitingMax) {
      this.#unsent.shift();
      this.#lost += 1;
    }
    this.#unsent.push({ id: randomUUID(), text });
    if (this.#sending) return;
    this.#gathering ??= this.#needs.clock.after(gatherMs, () => {
      this.#gathering = undefined;
      if (!this.#sending) void this.#send();
    });
  }

  /** After a break: the stream may be new, and has to be listened to again. */
  async resume(): Promise<void> {
    if (this.#stopped) return;
    await this.#messages?.close();
    await this.#prepare();
    await this.#listen();
    if (!this.#sending) void this.#send();
  }

  /** What is known here goes out before this node does, if NATS takes it at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#gathering?.cancel();
    if (this.#needs.link.connected) await this.#publishAll(this.#unsent);
    await this.#messages?.close();
  }

  async #prepare(): Promise<void> {
    const { link, keep } = this.#needs;
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
    const { link, keep } = this.#needs;
    const { state } = await (await link.streams()).streams.info(this.#stream);
    // A stream that began anew has smaller numbers than we have seen.
    if (state.last_seq < this.#last) this.#last = 0;
    const start = Math.max(this.#last + 1, state.last_seq - keep + 1, 1);
    const consumer = await link.stream.consumers.get(this.#stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: start,
    });
    const messages = await consumer.consume();
    this.#messages = messages;
    const told = state.last_seq;
    await new Promise<void>((resolve) => {
      if (this.#last >= told || state.messages === 0) resolve();
      void this.#follow(messages, () => {
        if (this.#last >= told) resolve();
      }).finally(resolve);
    });
  }

  async #follow(messages: ConsumerMessages, onEach: () => void): Promise<void> {
    try {
      for await (const message of messages) {
        this.#last = message.seq;
        this.#needs.onEvent(message.seq, message.json<Event>());
        onEach();
      }
    } catch (error) {
      if (!this.#stopped) this.#needs.onFault(messageOf(error));
    }
  }

  /** One after the other, many under way: an id that arrives twice is kept once. */
  async #send(): Promise<void> {
    this.#sending = true;
    const { link, clock } = this.#needs;
    while (this.#unsent.length > 0 && link.connected && !this.#stopped) {
      const batch = this.#unsent.slice(0, batchSize);
      const kept = await this.#publishAll(batch);
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

  /** Resolves with those that the stream says it has. */
  #publishAll(batch: readonly Unsent[]): Promise<Set<Unsent>> {
    const { link, clock } = this.#needs;
    const kept = new Set<Unsent>();
    if (batch.length === 0) return Promise.resolve(kept);
    return new Promise((resolve) => {
      let open = batch.length;
      const done = () => {
        timer.cancel();
        for (const question of questions) question.forget();
        resolve(kept);
      };
      const timer = clock.after(ackMs, done);
      const questions = batch.map((each) => {
        const take = (outcome: string, answer: unknown) => {
          if (outcome === "answered" && isObject(answer) && typeof answer["seq"] === "number") kept.add(each);
          open -= 1;
          if (open === 0) done();
        };
        return link.ask(this.#subject, each.text, take, once(each.id));
      });
    });
  }
}
