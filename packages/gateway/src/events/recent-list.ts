import { type GatewayEvent, isAuditOf, limits } from "@tendon/protocol";

/** The newest events with their numbers, which grow and may have gaps. Their count is bounded. */
export class RecentList {
  #events: GatewayEvent[] = [];
  /** The number of each event. */
  #numbers: number[] = [];
  /** The newest number that is not in memory because it is too old. */
  #dropped: number;

  /** `next`: the number that the first event will have. */
  constructor(next: number) {
    this.#dropped = next - 1;
  }

  get dropped(): number {
    return this.#dropped;
  }

  push(number: number, event: GatewayEvent): void {
    this.#events.push(event);
    this.#numbers.push(number);
    // Cut in blocks: shifting one by one would cost a move of the whole list for every event.
    const { max } = limits.eventsKept;
    const surplus = this.#events.length - max;
    if (surplus <= max / 4) return;
    this.#dropped = this.#numbers[surplus - 1] ?? this.#dropped;
    this.#events.splice(0, surplus);
    this.#numbers.splice(0, surplus);
  }

  all(): GatewayEvent[] {
    return [...this.#events];
  }

  /** The events with a larger number. */
  after(number: number): GatewayEvent[] {
    return this.#events.slice(this.#indexAfter(number));
  }

  /** The newest events of a device, oldest first. */
  newestOf(device: string, max: number): GatewayEvent[] {
    const found: GatewayEvent[] = [];
    for (let at = this.#events.length - 1; at >= 0 && found.length < max; at -= 1) {
      const event = this.#events[at];
      if (event?.device === device) found.push(event);
    }
    return found.reverse();
  }

  /** Removes the events of a device and those of the audit about it, and returns their numbers. */
  forget(device: string): number[] {
    const isOther = (_: unknown, at: number) => {
      const event = this.#events[at];
      return event?.device !== device && !(event?.type === "audit.recorded" && isAuditOf(device, event.data));
    };
    const removed = this.#numbers.filter((number, at) => !isOther(number, at));
    if (removed.length === 0) return removed;
    this.#numbers = this.#numbers.filter(isOther);
    this.#events = this.#events.filter(isOther);
    return removed;
  }

  /** Where the first event after this number is. */
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
