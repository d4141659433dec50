/**
 * When the status of each device is read: after it connects, after a command, and every few minutes. Few at a time over
 * the whole fleet, and never during a voice conversation.
 */
import type { Clock, Timer } from "../../clock.ts";

export interface StatusPollsDependencies {
  readonly clock: Clock;
  readonly isSelected: (id: string) => boolean;
  readonly isOnline: (id: string) => boolean;
  /** Whether a session of this node says so. Events tell it of other nodes. */
  readonly isTalking: (id: string) => boolean;
  readonly ids: () => Iterable<string>;
  readonly read: (id: string) => Promise<void>;
}

const everyMs = 300_000;
const tickMs = 10_000;
const maxAtOnce = 4;
const soonMs = 2_000;

export class StatusPolls {
  readonly #dependencies: StatusPollsDependencies;
  readonly #waiting = new Set<string>();
  readonly #lastAt = new Map<string, number>();
  readonly #talking = new Set<string>();
  readonly #soon = new Map<string, Timer>();
  /** Devices that are read now. Another question waits for the end. */
  readonly #reading = new Set<string>();
  readonly #timer: Timer;
  #stopped = false;

  constructor(dependencies: StatusPollsDependencies) {
    this.#dependencies = dependencies;
    this.#timer = dependencies.clock.every(tickMs, () => this.#askOld());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
    for (const timer of this.#soon.values()) timer.cancel();
    this.#waiting.clear();
  }

  ask(id: string): void {
    this.#waiting.add(id);
    this.#next();
  }

  /** After a call of another client, which is often one of many. */
  askSoon(id: string): void {
    if (this.#stopped || this.#soon.has(id)) return;
    const timer = this.#dependencies.clock.after(soonMs, () => {
      this.#soon.delete(id);
      this.ask(id);
    });
    this.#soon.set(id, timer);
  }

  askAll(): void {
    for (const id of this.#dependencies.ids()) this.#waiting.add(id);
    this.#next();
  }

  /** Reads the status at once, after a command outside of a conversation. */
  async now(id: string): Promise<void> {
    this.#waiting.delete(id);
    await this.#read(id);
  }

  isTalking(id: string): boolean {
    return this.#talking.has(id) || this.#dependencies.isTalking(id);
  }

  conversation(id: string, runs: boolean): void {
    if (runs) this.#talking.add(id);
    else if (this.#talking.delete(id)) this.ask(id);
  }

  #askOld(): void {
    const { ids, clock, isOnline } = this.#dependencies;
    const due = clock.monotonic() - everyMs;
    for (const id of this.#lastAt.keys()) if (!isOnline(id)) this.#lastAt.delete(id);
    for (const id of ids())
      if (isOnline(id) && (this.#lastAt.get(id) ?? Number.NEGATIVE_INFINITY) <= due) this.#waiting.add(id);
    this.#next();
  }

  #next(): void {
    for (const id of this.#waiting) {
      if (this.#reading.size >= maxAtOnce || this.#stopped) return;
      if (this.#reading.has(id)) continue;
      this.#waiting.delete(id);
      if (this.isTalking(id) || !this.#dependencies.isOnline(id) || !this.#dependencies.isSelected(id))
        continue;
      this.#reading.add(id);
      void this.#read(id).finally(() => {
        this.#reading.delete(id);
        this.#next();
      });
    }
  }

  async #read(id: string): Promise<void> {
    this.#lastAt.set(id, this.#dependencies.clock.monotonic());
    try {
      await this.#dependencies.read(id);
    } catch {
      // The history has the failed call. The next poll tries again.
    }
  }
}
