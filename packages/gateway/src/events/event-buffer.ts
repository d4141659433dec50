/**
 * Recent events with their numbers, so that a client that reconnects gets what it missed [EVT-3]. The newest are in
 * memory; events of earlier runs come from the event log. Numbers only grow, also across restarts and kill -9.
 */
import { type EventType, type GatewayEvent, limits } from "@tendon/protocol";
import { isoTime } from "../clock.ts";

/** An event as it is stored. */
export interface KeptEvent {
  readonly sequence: number;
  readonly type: EventType;
  readonly at: number;
  /** `undefined` for an event of several devices. */
  readonly device: string | undefined;
  readonly data: { readonly [key: string]: unknown };
}

/** Events that outlive the process. */
export interface EventLog {
  /** Reserves numbers that no run has used or will use. */
  reserve(count: number): Promise<{ readonly stream: string; readonly first: number }>;
  /** Returns before the event is written. */
  append(stream: string, event: KeptEvent): void;
  /** The events between two numbers, both excluded, in order; `undefined` when some are deleted or there are too many. */
  between(
    stream: string,
    after: number,
    before: number,
    limit: number,
  ): Promise<readonly KeptEvent[] | undefined>;
}

/** What a client missed: first the events from the log, then those in memory. */
export interface Missed {
  readonly earlier: (() => Promise<readonly GatewayEvent[] | undefined>) | undefined;
  readonly recent: readonly GatewayEvent[];
}

/** The newest events, of this node or of the whole cluster. */
export interface RecentEvents {
  /** Returns `undefined` when the event gets its number later. `stored`: another table already keeps it. */
  add(
    event: Omit<KeptEvent, "sequence">,
    stored: boolean,
  ): { readonly number: number; readonly event: GatewayEvent } | undefined;
  readonly lastId: string;
  recentOf(device: string, most: number): GatewayEvent[];
  since(id: string): Missed | undefined;
}

/** Numbers reserved at a time: one write per half a million events. */
const block = 1_000_000;
/** While the log is unavailable, a reservation is retried after so many events. */
const retryAfter = 1_000;

export class EventBuffer implements RecentEvents {
  readonly #log: EventLog;
  readonly #onFault: (error: unknown) => void;
  readonly #stream: string;
  /** The first number of this run. */
  readonly #first: number;
  readonly #recent: GatewayEvent[] = [];
  /** The number of each recent event. */
  readonly #numbers: number[] = [];
  /** The newest number that is not in memory. */
  #dropped: number;
  #next: number;
  #end: number;
  #spare: number | undefined;
  #askAt: number;

  private constructor(
    log: EventLog,
    { stream, first }: { readonly stream: string; readonly first: number },
    onFault: (error: unknown) => void,
  ) {
    this.#log = log;
    this.#onFault = onFault;
    this.#stream = stream;
    this.#first = first;
    this.#dropped = first - 1;
    this.#next = first;
    this.#end = first + block;
    this.#askAt = first + block / 2;
  }

  static async open(log: EventLog, onFault: (error: unknown) => void): Promise<EventBuffer> {
    return new EventBuffer(log, await log.reserve(block), onFault);
  }

  add(event: Omit<KeptEvent, "sequence">, stored: boolean): { number: number; event: GatewayEvent } {
    const sequence = this.#number();
    const { type, at, device, data } = event;
    const kept = { sequence, type, at, device, data };
    const shown = this.#shown(kept);
    if (!stored) this.#log.append(this.#stream, kept);
    this.#recent.push(shown);
    this.#numbers.push(sequence);
    // Cut in blocks: shifting one by one would cost a move of the whole list for every event.
    const { max } = limits.eventsKept;
    if (this.#recent.length > max * 1.25) {
      const surplus = this.#recent.length - max;
      this.#dropped = this.#numbers[surplus - 1] ?? this.#dropped;
      this.#recent.splice(0, surplus);
      this.#numbers.splice(0, surplus);
    }
    return { number: sequence, event: shown };
  }

  /** The id of the newest event. */
  get lastId(): string {
    return `${this.#stream}-${this.#next - 1}`;
  }

  /** The newest events of a device that are in memory, oldest first. */
  recentOf(device: string, most: number): GatewayEvent[] {
    return newestOf(this.#recent, device, most);
  }

  /** Everything after the event with this id; `undefined` when that is too far back, or no id of ours. */
  since(id: string): Missed | undefined {
    const [, stream, digits] = /^([0-9a-f]+)-(\d{1,16})$/.exec(id) ?? [];
    const after = Number(digits);
    if (stream !== this.#stream || after >= this.#next) return undefined;
    if (after >= this.#dropped)
      return { earlier: undefined, recent: this.#recent.slice(this.#indexAfter(after)) };
    // The events between this run's first ones and those in memory are in no single place.
    if (this.#dropped >= this.#first) return undefined;
    const earlier = async () => {
      const events = await this.#log.between(this.#stream, after, this.#first, limits.eventsKept.max);
      return events?.map((event) => this.#shown(event));
    };
    return { earlier, recent: [...this.#recent] };
  }

  #shown({ sequence, type, at, device, data }: KeptEvent): GatewayEvent {
    const id = `${this.#stream}-${sequence}`;
    return device === undefined
      ? { id, type, at: isoTime(at), data }
      : { id, type, at: isoTime(at), device, data };
  }

  /**
   * The next number. When the log has been unavailable for half a block, numbers continue beyond the reservation; only
   * a kill -9 on top of that could repeat some.
   */
  #number(): number {
    if (this.#next >= this.#askAt) this.#reserve();
    if (this.#next >= this.#end && this.#spare !== undefined) {
      this.#next = Math.max(this.#next, this.#spare);
      this.#end = this.#spare + block;
      this.#askAt = this.#spare + block / 2;
      this.#spare = undefined;
    }
    const number = this.#next;
    this.#next += 1;
    return number;
  }

  #reserve(): void {
    this.#askAt = Number.POSITIVE_INFINITY;
    this.#log.reserve(block).then(
      ({ first }) => {
        this.#spare = first;
      },
      (error: unknown) => {
        this.#askAt = this.#next + retryAfter;
        this.#onFault(error);
      },
    );
  }

  /** Where the first recent event after this number is. */
  #indexAfter(number: number): number {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#numbers[middle] ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The newest events of a device among these, oldest first. */
export function newestOf(events: readonly GatewayEvent[], device: string, most: number): GatewayEvent[] {
  const found: GatewayEvent[] = [];
  for (let at = events.length - 1; at >= 0 && found.length < most; at -= 1) {
    const event = events[at];
    if (event?.device === device) found.push(event);
  }
  return found.reverse();
}
