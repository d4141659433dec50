/**
 * Recent events with their numbers, so that a client that reconnects gets what it missed [EVT-3]. The newest are in
 * memory; events of earlier runs come from the event log. Numbers only grow, also across restarts and kill -9.
 */
import { type EventType, type GatewayEvent, limits } from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import { RecentList } from "./recent-list.ts";

/** An event with its number, as it is stored. */
export interface NumberedEvent {
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
  append(stream: string, event: NumberedEvent): void;
  /** The events between two numbers, both excluded, in order; `undefined` if some are deleted or too many. */
  between(
    stream: string,
    after: number,
    before: number,
    limit: number,
  ): Promise<readonly NumberedEvent[] | undefined>;
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
    event: Omit<NumberedEvent, "sequence">,
    stored: boolean,
  ): { readonly number: number; readonly event: GatewayEvent } | undefined;
  readonly lastId: string;
  recentOf(device: string, max: number): GatewayEvent[];
  since(id: string): Missed | undefined;
  /** Removes the events of a device. */
  forget(device: string): void;
}

/** Numbers reserved at a time: one write per half a million events. */
const blockSize = 1_000_000;
/** While the log is unavailable, a reservation is retried after so many events. */
const retryAfter = 1_000;

export class EventBuffer implements RecentEvents {
  readonly #log: EventLog;
  readonly #onFault: (error: unknown) => void;
  readonly #stream: string;
  /** The first number of this run. */
  readonly #first: number;
  readonly #recent: RecentList;
  #next: number;
  #end: number;
  #nextBlock: number | undefined;
  #reserveAt: number;

  private constructor(
    log: EventLog,
    { stream, first }: { readonly stream: string; readonly first: number },
    onFault: (error: unknown) => void,
  ) {
    this.#log = log;
    this.#onFault = onFault;
    this.#stream = stream;
    this.#first = first;
    this.#recent = new RecentList(first);
    this.#next = first;
    this.#end = first + blockSize;
    this.#reserveAt = first + blockSize / 2;
  }

  static async open(log: EventLog, onFault: (error: unknown) => void): Promise<EventBuffer> {
    return new EventBuffer(log, await log.reserve(blockSize), onFault);
  }

  add(event: Omit<NumberedEvent, "sequence">, stored: boolean): { number: number; event: GatewayEvent } {
    const sequence = this.#number();
    const { type, at, device, data } = event;
    const numbered = { sequence, type, at, device, data };
    const published = this.#toGatewayEvent(numbered);
    if (!stored) this.#log.append(this.#stream, numbered);
    this.#recent.push(sequence, published);
    return { number: sequence, event: published };
  }

  /** The id of the newest event. */
  get lastId(): string {
    return `${this.#stream}-${this.#next - 1}`;
  }

  /** The newest events of a device that are in memory, oldest first. */
  recentOf(device: string, max: number): GatewayEvent[] {
    return this.#recent.newestOf(device, max);
  }

  /** Everything after the event with this id; `undefined` when that is too far back, or no id of ours. */
  since(id: string): Missed | undefined {
    const [, stream, digits] = /^([0-9a-f]+)-(\d{1,16})$/.exec(id) ?? [];
    const after = Number(digits);
    if (stream !== this.#stream || after >= this.#next) return undefined;
    if (after >= this.#recent.dropped) return { earlier: undefined, recent: this.#recent.after(after) };
    // The events between this run's first ones and those in memory are in no single place.
    if (this.#recent.dropped >= this.#first) return undefined;
    const earlier = async () => {
      const events = await this.#log.between(this.#stream, after, this.#first, limits.eventsKept.max);
      return events?.map((event) => this.#toGatewayEvent(event));
    };
    return { earlier, recent: this.#recent.all() };
  }

  forget(device: string): void {
    this.#recent.forget(device);
  }

  #toGatewayEvent({ sequence, type, at, device, data }: NumberedEvent): GatewayEvent {
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
    if (this.#next >= this.#reserveAt) this.#reserve();
    if (this.#next >= this.#end && this.#nextBlock !== undefined) {
      this.#next = Math.max(this.#next, this.#nextBlock);
      this.#end = this.#nextBlock + blockSize;
      this.#reserveAt = this.#nextBlock + blockSize / 2;
      this.#nextBlock = undefined;
    }
    const number = this.#next;
    this.#next += 1;
    return number;
  }

  #reserve(): void {
    this.#reserveAt = Number.POSITIVE_INFINITY;
    this.#log.reserve(blockSize).then(
      ({ first }) => {
        this.#nextBlock = first;
      },
      (error: unknown) => {
        this.#reserveAt = this.#next + retryAfter;
        this.#onFault(error);
      },
    );
  }
}
