/**
 * How far the clocks of other nodes differ from this node's, from their heartbeats. A delayed heartbeat looks like a clock
 * that is behind, so the largest of the last differences is the best one. Ages are computed from monotonic clocks only:
 * a clock that is wrong, or that is set, ends no request.
 */
import type { Clock } from "../clock.ts";

/** The times of a node when it sent a heartbeat. */
export interface NodeTimes {
  readonly monotonic: number;
  readonly wall: number;
}

interface Sample {
  readonly receivedAt: number;
  readonly difference: number;
}

/** Twenty seconds of heartbeats. */
const samplesKept = 10;
/** Heartbeats that arrive together after a pause count as one, of which the last has the smallest delay. */
const togetherMs = 1_000;

export class ClockDifferences {
  readonly #clock: Clock;
  readonly #samples = new Map<string, Sample[]>();
  readonly #skews = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(instance: string, { monotonic, wall }: NodeTimes): void {
    const receivedAt = this.#clock.monotonic();
    const difference = monotonic - receivedAt;
    const samples = this.#samples.get(instance) ?? [];
    const last = samples.at(-1);
    if (last !== undefined && receivedAt - last.receivedAt < togetherMs) {
      samples[samples.length - 1] = {
        receivedAt: last.receivedAt,
        difference: Math.max(last.difference, difference),
      };
    } else samples.push({ receivedAt, difference });
    this.#samples.set(instance, samples.slice(-samplesKept));
    const ageMs = this.ageOf(instance, monotonic) ?? 0;
    this.#skews.set(instance, wall - (this.#clock.now() - ageMs));
  }

  /** The age of something that the node did at this time of its monotonic clock; `undefined` if nothing is known of it. */
  ageOf(instance: string, at: number): number | undefined {
    const samples = this.#samples.get(instance);
    if (samples === undefined) return undefined;
    const difference = Math.max(...samples.map((sample) => sample.difference));
    return this.#clock.monotonic() + difference - at;
  }

  knows(instance: string): boolean {
    return this.#samples.has(instance);
  }

  /** How far the node's clock is ahead of this one's, in milliseconds; negative if it is behind. */
  skews(): ReadonlyMap<string, number> {
    return this.#skews;
  }

  remove(instance: string): void {
    this.#samples.delete(instance);
    this.#skews.delete(instance);
  }
}
