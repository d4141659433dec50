/** The stream of events: who listens, and the recent ones for clients that resume. */
import type { EventType, GatewayEvent } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import {
  EventBuffer,
  type EventLog,
  type Missed,
  type NumberedEvent,
  type RecentEvents,
} from "./event-buffer.ts";

type EventListener = (event: GatewayEvent) => void;

export class EventStream {
  readonly #clock: Clock;
  readonly #onLogFault: (error: unknown) => void;
  readonly #listeners = new Set<EventListener>();
  #recent: RecentEvents | undefined;
  #deferred: (() => void) | undefined;

  constructor(clock: Clock, onLogFault: (error: unknown) => void) {
    this.#clock = clock;
    this.#onLogFault = onLogFault;
  }

  subscribe(listener: EventListener): () => void {
    this.settle();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Numbers and stores events from now on. Nothing may be published before. */
  async useLog(log: EventLog): Promise<void> {
    this.#recent = await EventBuffer.open(log, this.#onLogFault);
  }

  /** Uses the events of all nodes instead. The owner passes them to `deliver` when they arrive. */
  useReplicated(events: RecentEvents): void {
    this.#recent = events;
  }

  deliver(event: GatewayEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Defers a report to the end of the event-loop turn, or until the next report or read, whichever is first. */
  deferReport(report: () => void): void {
    this.settle();
    this.#deferred = report;
    setImmediate(() => this.settle());
  }

  /** Runs a deferred report now. */
  settle(): void {
    const report = this.#deferred;
    this.#deferred = undefined;
    report?.();
  }

  /** The id of the newest event. */
  get lastId(): string {
    this.settle();
    return this.#recent?.lastId ?? "";
  }

  /** The newest events of a device that are in memory, oldest first. */
  recentOf(device: string, max: number): GatewayEvent[] {
    this.settle();
    return this.#recent?.recentOf(device, max) ?? [];
  }

  /** Removes the events of a device from memory, and from the stream of a cluster. */
  forget(device: string): void {
    this.settle();
    this.#recent?.forget(device);
  }

  /** Everything after the event with this id; `undefined` if it is too old or not an id of this gateway. */
  since(id: string): Missed | undefined {
    this.settle();
    return this.#recent?.since(id);
  }

  protected publish(
    type: EventType,
    device: string | undefined,
    data: { readonly [key: string]: unknown },
  ): void {
    this.settle();
    this.add(type, this.#clock.now(), device, data);
  }

  /** Returns the number of the event; 0 if it gets its number later. */
  protected add(
    type: EventType,
    at: number,
    device: string | undefined,
    data: NumberedEvent["data"],
  ): number {
    if (this.#recent === undefined)
      throw new TypeError("an event was published before the event log was opened");
    const added = this.#recent.add({ type, at, device, data }, type === "call.finished");
    if (added === undefined) return 0;
    this.deliver(added.event);
    return added.number;
  }
}
