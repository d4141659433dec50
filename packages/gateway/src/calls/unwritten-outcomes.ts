/**
 * Writes the outcomes of requests with an `Idempotency-Key`. What the store cannot take while it is unavailable is kept
 * here and written when it is back, so that repeats on other nodes do not wait for a request that has ended.
 */
import { limits } from "@tendon/protocol";
import type { Store } from "../store/store.ts";

export interface RecordKey {
  readonly principal: string;
  readonly key: string;
}

export interface UnwrittenOutcomesDependencies {
  readonly store: Pick<Store, "idempotencyRecords" | "onAvailable">;
  /** This run of the gateway. */
  readonly run: string;
  readonly onFault: (error: unknown) => void;
}

interface Unwritten {
  readonly record: RecordKey;
  /** `undefined`: the record is to be released. */
  readonly answer: string | undefined;
}

export class UnwrittenOutcomes {
  readonly #dependencies: UnwrittenOutcomesDependencies;
  /** The oldest first. */
  readonly #waiting = new Map<string, Unwritten>();
  #bytes = 0;

  constructor(dependencies: UnwrittenOutcomesDependencies) {
    this.#dependencies = dependencies;
    dependencies.store.onAvailable(() => void this.#writeAll());
  }

  async finish(record: RecordKey, answer: string): Promise<void> {
    await this.#write({ record, answer });
  }

  /** The request did not reach its device: a repeat may run. */
  async release(record: RecordKey): Promise<void> {
    await this.#write({ record, answer: undefined });
  }

  /** For a claim whose outcome is unknown, because the store failed. */
  releaseLater(record: RecordKey): void {
    this.#keep({ record, answer: undefined });
  }

  /** The answer of a request of this node that is not in the store yet. */
  outcomeOf({ principal, key }: RecordKey): string | undefined {
    return this.#waiting.get(`${principal}\u0000${key}`)?.answer;
  }

  async #write(unwritten: Unwritten): Promise<void> {
    try {
      await this.#writeNow(unwritten);
    } catch (error) {
      this.#dependencies.onFault(error);
      this.#keep(unwritten);
    }
  }

  async #writeNow({ record: { principal, key }, answer }: Unwritten): Promise<void> {
    const { store, run } = this.#dependencies;
    if (answer === undefined) await store.idempotencyRecords.release(principal, key, run);
    else await store.idempotencyRecords.finish(principal, key, answer);
  }

  /** Beyond the bounds the oldest is dropped: a repeat of it on another node then waits until its deadline. */
  #keep(unwritten: Unwritten): void {
    const { principal, key } = unwritten.record;
    this.#drop(`${principal}\u0000${key}`);
    this.#waiting.set(`${principal}\u0000${key}`, unwritten);
    this.#bytes += unwritten.answer?.length ?? 0;
    for (const oldest of this.#waiting.keys()) {
      if (this.#waiting.size <= limits.idempotencyKeys.max && this.#bytes <= limits.idempotencyBytes.max)
        return;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#waiting.get(name)?.answer?.length ?? 0;
    this.#waiting.delete(name);
  }

  async #writeAll(): Promise<void> {
    for (const [name, unwritten] of [...this.#waiting]) {
      try {
        await this.#writeNow(unwritten);
      } catch {
        // Unavailable again; the next return of the store continues here.
        return;
      }
      if (this.#waiting.get(name) === unwritten) this.#drop(name);
    }
  }
}
