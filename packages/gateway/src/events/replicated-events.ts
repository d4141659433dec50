/**
 * Recent events of all nodes [EVT-3]. Each node publishes its events to one stream and receives those of all nodes in
 * one order with one numbering, so that a client can resume at any node.
 */
import { type GatewayEvent, limits } from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import { type Missed, type NumberedEvent, newestOf, type RecentEvents } from "./event-buffer.ts";

export type UnnumberedEvent = Omit<NumberedEvent, "sequence">;

/** The stream that all nodes share. */
const stream = "c";

export class ReplicatedEvents implements RecentEvents {
  readonly #publish: (event: UnnumberedEvent) => void;
  readonly #recent: GatewayEvent[] = [];
  #last = 0;

  constructor(publish: (event: UnnumberedEvent) => void) {
    this.#publish = publish;
  }

  /** Listeners get the event when it returns from the stream. */
  add(event: UnnumberedEvent): undefined {
    this.#publish(event);
    return undefined;
  }

  /** The next event of the common order. */
  arrived(sequence: number, { type, at, device, data }: UnnumberedEvent): GatewayEvent {
    // A NATS server that lost its disk restarts its numbering; earlier events have no valid number then.
    if (sequence <= this.#last) this.#recent.length = 0;
    const event: GatewayEvent = {
      id: `${stream}-${sequence}`,
      type,
      at: isoTime(at),
      ...(device === undefined ? {} : { device }),
      data: { ...data },
    };
    this.#recent.push(event);
    this.#last = sequence;
    const { max } = limits.eventsKept;
    if (this.#recent.length > max * 1.25) this.#recent.splice(0, this.#recent.length - max);
    return event;
  }

  get lastId(): string {
    return `${stream}-${this.#last}`;
  }

  recentOf(device: string, max: number): GatewayEvent[] {
    return newestOf(this.#recent, device, max);
  }

  since(id: string): Missed | undefined {
    const after = Number(/^c-(\d{1,16})$/.exec(id)?.[1] ?? Number.NaN);
    const missed = this.#last - after;
    if (!(missed >= 0) || missed > this.#recent.length) return undefined;
    return { earlier: undefined, recent: missed === 0 ? [] : this.#recent.slice(-missed) };
  }
}
