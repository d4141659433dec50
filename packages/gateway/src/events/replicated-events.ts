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

/** The stream of all nodes. */
export interface SharedLog {
  publish(event: UnnumberedEvent): void;
  /** Deletes the events with these numbers. Every node may do so. */
  remove(sequences: readonly number[]): void;
}

export class ReplicatedEvents implements RecentEvents {
  readonly #log: SharedLog;
  readonly #recent: { readonly sequence: number; readonly event: GatewayEvent }[] = [];
  /** The newest number that is not in memory. Numbers of deleted events are missing. */
  #dropped = 0;
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
    if (sequence <= this.#last) this.#recent.length = 0;
    if (this.#recent.length === 0 && (this.#last === 0 || sequence <= this.#last))
      this.#dropped = sequence - 1;
    const event: GatewayEvent = {
      id: `${stream}-${sequence}`,
      type,
      at: isoTime(at),
      ...(device === undefined ? {} : { device }),
      data: { ...data },
    };
    this.#recent.push({ sequence, event });
    this.#last = sequence;
    const { max } = limits.eventsKept;
    if (this.#recent.length > max * 1.25) {
      const removed = this.#recent.splice(0, this.#recent.length - max);
      this.#dropped = removed.at(-1)?.sequence ?? this.#dropped;
    }
    return event;
  }

  get lastId(): string {
    return `${stream}-${this.#last}`;
  }

  recentOf(device: string, max: number): GatewayEvent[] {
    return newestOf(
      this.#recent.map(({ event }) => event),
      device,
      max,
    );
  }

  /** On every node, and once in the stream. */
  forget(device: string): void {
    const removed: number[] = [];
    for (let at = this.#recent.length - 1; at >= 0; at -= 1) {
      const known = this.#recent[at];
      if (known?.event.device !== device) continue;
      this.#recent.splice(at, 1);
      removed.push(known.sequence);
    }
    this.#log.remove(removed);
  }

  since(id: string): Missed | undefined {
    const after = Number(/^c-(\d{1,16})$/.exec(id)?.[1] ?? Number.NaN);
    if (!(after <= this.#last) || after < this.#dropped) return undefined;
    const from = this.#recent.findLastIndex(({ sequence }) => sequence <= after) + 1;
    return { earlier: undefined, recent: this.#recent.slice(from).map(({ event }) => event) };
  }
}
