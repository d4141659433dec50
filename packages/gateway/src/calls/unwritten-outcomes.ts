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

/** One attempt to run a request. A late write of an old claim must not touch a newer one of the same key. */
export interface RecordClaim extends RecordKey {
  readonly claim: string;
}

export interface UnwrittenOutcomesDependencies {
  readonly store: Pick<Store, "idempotencyRecords" | "onAvailable">;
  readonly onFault: (error: unknown) => void;
}

interface Unwritten {
  readonly record: RecordClaim;
  /** `undefined`: the record is to be released. */
  readonly answer: string | undefined;
}

export class UnwrittenOutcomes {
  readonly #dependencies: UnwrittenOutcomesDependencies;
  /** By claim, the oldest first. */
  readonly #waiting = new Map<string, Unwritten>();
  #bytes = 0;

  constructor(dependencies: UnwrittenOutcomesDependencies) {
    this.#dependencies = dependencies;
    dependencies.store.onAvailable(() => void this.#writeAll());
  }

  async finish(record: RecordClaim, answer: string): Promise<void> {
    await this.#write({ record, answer });
  }

  /** The request did not reach its device: a repeat may run. */
  async release(record: RecordClaim): Promise<void> {
    await this.#write({ record, answer: undefined });
  }

  /** For a claim whose outcome is unknown, because the store failed. */
  releaseLater(record: RecordClaim): void {
    this.#keep({ record, answer: undefined });
  }

  /** The answer of a request of this node that is not in the store yet. */
  outcomeOf(claim: string): string | undefined {
    return this.#waiting.get(claim)?.answer;
  }

  async #write(unwritten: Unwritten): Promise<void> {
    try {
      await this.#writeNow(unwritten);
    } catch (error) {
      this.#dependencies.onFault(error);
      this.#keep(unwritten);
    }
  }

  async #writeNow({ record: { principal, key, claim }, answer }: Unwritten): Promise<void> {
    const { idempotencyRecords } = this.#dependencies.store;
    if (answer === undefined) await idempotencyRecords.release(principal, key, claim);
    else await idempotencyRecords.finish(principal, key, claim, answer);
  }

  /** Beyond the bounds the oldest is dropped: a repeat of it on another node then waits until its deadline. */
  #keep(unwritten: Unwritten): void {
    const { claim } = unwritten.record;
    this.#drop(claim);
    this.#waiting.set(claim, unwritten);
    this.#bytes += unwritten.answer?.length ?? 0;
    for (const oldest of this.#waiting.keys()) {
      if (this.#waiting.size <= limits.idempotencyKeys.max && this.#bytes <= limits.idempotencyBytes.max)
        return;
      this.#drop(oldest);
    }
  }

  #drop(claim: string): void {
    this.#bytes -= this.#waiting.get(claim)?.answer?.length ?? 0;
    this.#waiting.delete(claim);
  }

  async #writeAll(): Promise<void> {
    for (const [claim, unwritten] of [...this.#waiting]) {
      try {
        await this.#writeNow(unwritten);
      } catch {
        // Unavailable again; the next return of the store continues here.
        return;
      }
      if (this.#waiting.get(claim) === unwritten) this.#drop(claim);
    }
  }
}
