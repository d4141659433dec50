/**
 * Recent events of all nodes [EVT-3]. Each node publishes its events to one stream and receives those of all nodes in
 * one order with one numbering, so that a client can resume at any node.
 */
import type { GatewayEvent } from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import type { Missed, NumberedEvent, RecentEvents } from "./event-buffer.ts";
import { RecentList } from "./recent-list.ts";

export type UnnumberedEvent = Omit<NumberedEvent, "sequence">;

/** The stream that all nodes share. */
const stream = "c";

/** The stream of all nodes. */
export interface SharedLog {
  publish(event: UnnumberedEvent): void;
  /** Deletes the events with these numbers. Every node may do so. */
  remove(sequences: readonly number[]): void;
}

export class ReplicatedEvents implements RecentEvents {
  readonly #log: SharedLog;
  /** `undefined` before the first event. */
  #recent: RecentList | undefined;
  #last = 0;

  constructor(log: SharedLog) {
    this.#log = log;
  }

  /** Listeners get the event when it returns from the stream. */
  add(event: UnnumberedEvent): undefined {
    this.#log.publish(event);
    return undefined;
  }

  /** The next event of the common order. */
  arrived(sequence: number, { type, at, device, data }: UnnumberedEvent): GatewayEvent {
    // A NATS server that lost its disk restarts its numbering; earlier events have no valid number then.
    if (this.#recent === undefined || sequence <= this.#last) this.#recent = new RecentList(sequence);
    const event: GatewayEvent = {
      id: `${stream}-${sequence}`,
      type,
      at: isoTime(at),
      ...(device === undefined ? {} : { device }),
      data: { ...data },
    };
    this.#recent.push(sequence, event);
    this.#last = sequence;
    return event;
  }

  get lastId(): string {
    return `${stream}-${this.#last}`;
  }

  recentOf(device: string, max: number): GatewayEvent[] {
    return this.#recent?.newestOf(device, max) ?? [];
  }

  /** On every node, and once in the stream. */
  forget(device: string): void {
    this.#log.remove(this.#recent?.forget(device) ?? []);
  }

  since(id: string): Missed | undefined {
    const after = Number(/^c-(\d{1,16})$/.exec(id)?.[1] ?? Number.NaN);
    if (!(after <= this.#last) || after < (this.#recent?.dropped ?? 0)) return undefined;
    return { earlier: undefined, recent: this.#recent?.after(after) ?? [] };
  }
}
