/**
 * What happened lately, numbered, for whoever comes back and asks what was missed [EVT-3]. The newest are in memory;
 * what earlier runs published comes from a journal. Numbers only ever grow, also over restarts and kill -9.
 */
import { type EventType, type GatewayEvent, limits } from "@tendon/protocol";
import { isoTime } from "./clock.ts";

/** An event without its name on the wire. */
export interface KeptEvent {
  readonly sequence: number;
  readonly type: EventType;
  readonly at: number;
  /** `undefined` where it concerns many. */
  readonly device: string | undefined;
  readonly data: { readonly [key: string]: unknown };
}

/** Where events outlive the process. */
export interface EventJournal {
  /** The next numbers that no run has had and none will have again. */
  reserve(count: number): Promise<{ readonly stream: string; readonly first: number }>;
  /** Returns at once. */
  append(stream: string, event: KeptEvent): void;
  /** All between two numbers, both excluded, in order; `undefined` when some are gone, or there are too many. */
  between(
    stream: string,
    after: number,
    before: number,
    limit: number,
  ): Promise<readonly KeptEvent[] | undefined>;
}

/** What somebody has missed: first what comes from the journal, then what is in memory. */
export interface Missed {
  readonly earlier: (() => Promise<readonly GatewayEvent[] | undefined>) | undefined;
  readonly recent: readonly GatewayEvent[];
}

/** Where the newest events are found. */
export interface EventBook {
  /** `undefined`: it comes back later, with its number. `journalled`: it is kept elsewhere already. */
  add(
    event: Omit<KeptEvent, "sequence">,
    journalled: boolean,
  ): { readonly number: number; readonly event: GatewayEvent } | undefined;
  readonly lastId: string;
  recentOf(device: string, most: number): GatewayEvent[];
  since(id: string): Missed | undefined;
}

/** Taken at a time, so that the disk is asked once in half a million events. */
const block = 1_000_000;
/** A journal that is away is asked again after so many events. */
const retryAfter = 1_000;

export class EventMemory implements EventBook {
  readonly #journal: EventJournal;
  readonly #onFault: (error: unknown) => void;
  readonly #stream: string;
  /** The first number of this run. */
  readonly #first: number;
  readonly #recent: GatewayEvent[] = [];
  /** Of each recent one, its number. */
  readonly #numbers: number[] = [];
  /** The newest number that is not in memory. */
  #dropped: number;
  #next: number;
  #end: number;
  #spare: number | undefined;
  #askAt: number;

  private constructor(
    journal: EventJournal,
    { stream, first }: { readonly stream: string; readonly first: number },
    onFault: (error: unknown) => void,
  ) {
    this.#journal = journal;
    this.#onFault = onFault;
    this.#stream = stream;
    this.#first = first;
    this.#dropped = first - 1;
    this.#next = first;
    this.#end = first + block;
    this.#askAt = first + block / 2;
  }

  static async open(journal: EventJournal, onFault: (error: unknown) => void): Promise<EventMemory> {
    return new EventMemory(journal, await journal.reserve(block), onFault);
  }

  /** `journalled`: whether it is kept elsewhere already. */
  add(event: Omit<KeptEvent, "sequence">, journalled: boolean): { number: number; event: GatewayEvent } {
    const sequence = this.#number();
    const { type, at, device, data } = event;
    const kept = { sequence, type, at, device, data };
    const shown = this.#shown(kept);
    if (!journalled) this.#journal.append(this.#stream, kept);
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
    // What is between this run's first events and memory is in no one place any more.
    if (this.#dropped >= this.#first) return undefined;
    const earlier = async () => {
      const events = await this.#journal.between(this.#stream, after, this.#first, limits.eventsKept.max);
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
   * The next number. Where the journal has been away for half a block, numbers go on beyond what was reserved: only
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
    this.#journal.reserve(block).then(
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
