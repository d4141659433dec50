/**
 * What happened lately on all nodes [EVT-3]: events go out to an exchange and come back to every node in one order,
 * with one number, so that whoever was connected to one node can go on at another.
 */
import { type GatewayEvent, limits } from "@tendon/protocol";
import { isoTime } from "./clock.ts";
import { type EventBook, type KeptEvent, type Missed, newestOf } from "./event-memory.ts";

export type UnnumberedEvent = Omit<KeptEvent, "sequence">;

/** All nodes share one stream of numbers. */
const stream = "c";

export class SharedEvents implements EventBook {
  readonly #publish: (event: UnnumberedEvent) => void;
  readonly #recent: GatewayEvent[] = [];
  #last = 0;

  constructor(publish: (event: UnnumberedEvent) => void) {
    this.#publish = publish;
  }

  /** It is shown when it comes back. */
  add(event: UnnumberedEvent): undefined {
    this.#publish(event);
    return undefined;
  }

  /** The next event of the common order. */
  arrived(sequence: number, { type, at, device, data }: UnnumberedEvent): GatewayEvent {
    // A server that lost its disk begins anew; what was before has no number any more.
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

  recentOf(device: string, most: number): GatewayEvent[] {
    return newestOf(this.#recent, device, most);
  }

  since(id: string): Missed | undefined {
    const after = Number(/^c-(\d{1,16})$/.exec(id)?.[1] ?? Number.NaN);
    const missed = this.#last - after;
    if (!(missed >= 0) || missed > this.#recent.length) return undefined;
    return { earlier: undefined, recent: missed === 0 ? [] : this.#recent.slice(-missed) };
  }
}
