/**
 * `Idempotency-Key`: the same request under the same key runs once [CALL-7], on any node and also after a restart.
 * A repeat gets the first answer, and waits for it while the first request runs. A call that did not reach its device
 * is not stored, so that a client can retry it. If the outcome is unknown, the repeat fails and does not run. Without
 * the store a new key is rejected: no node could know whether another one has run it.
 */
import { createHash } from "node:crypto";
import { isErrorCode, isObject, limits } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError, UndecidedError } from "../errors.ts";
import type { IdempotencyRecord, Store } from "../store/store.ts";
import { type RecordClaim, type RecordKey, UnwrittenOutcomes } from "./unwritten-outcomes.ts";

interface Entry {
  readonly digest: string;
  readonly answer: Promise<unknown>;
  readonly expiresAt: number;
  /** Set when the request has its answer. */
  bytes: number;
}

type StoredOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly detail: string; readonly context: object };

export interface IdempotencyDependencies {
  readonly clock: Clock;
  readonly store: Pick<Store, "idempotencyRecords" | "onAvailable">;
  /** This run of the gateway. */
  readonly run: string;
  readonly isAlive: (run: string) => boolean;
  /** Whether a run that is not alive now may come back: a node that is frozen or cut off. */
  readonly mayReturn: (run: string) => boolean;
  readonly onFault: (error: unknown) => void;
}

const dayMs = 24 * 60 * 60 * 1000;
const pollMs = 200;
/** A node that is away for longer than this is not waited for. */
const returnMs = 60_000;
/** Enough for one or two pictures. Of a larger answer only the fact that the request ran is stored. */
const maxStoredLength = 4 * 1024 * 1024;

export class Idempotency {
  readonly #dependencies: IdempotencyDependencies;
  /** The requests of this run, oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Requests of this run without a final outcome; resolved when they have one. */
  readonly #running = new Map<string, Promise<void>>();
  /** How many requests of each name this node handles now. */
  readonly #open = new Map<string, number>();
  readonly #unwritten: UnwrittenOutcomes;
  #bytes = 0;
  #claims = 0;

  constructor(dependencies: IdempotencyDependencies) {
    this.#dependencies = dependencies;
    this.#unwritten = new UnwrittenOutcomes(dependencies);
  }

  run<Answer>(
    principal: Principal,
    key: string,
    request: unknown,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (key.length > limits.idempotencyKeyLength.max) {
      throw new TendonError(
        "bad_request",
        `Idempotency-Key is limited to ${limits.idempotencyKeyLength.max} characters`,
      );
    }
    this.#dropExpired();
    const record = { principal: principal.id, key };
    const name = nameOf(record);
    const digest = createHash("sha256").update(JSON.stringify(request)).digest("base64");
    const known = this.#entries.get(name);
    if (known !== undefined) {
      requireSameRequest(known.digest, digest);
      // Safe: the digest covers which request it is, and a request has one kind of answer.
      return known.answer as Promise<Answer>;
    }
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    const answer = this.#runOnce(record, digest, work).finally(() => this.#closed(name));
    this.#entries.set(name, { digest, answer, expiresAt: this.#dependencies.clock.now() + dayMs, bytes: 0 });
    answer.then(
      (value) => this.#addSize(name, value),
      (error: unknown) => {
        // The outcome of an undecided request is learnt later, and is then in the store.
        if (!reachedDevice(error) || UndecidedError.in(error) !== undefined) this.#drop(name);
      },
    );
    return answer;
  }

  /** Deletes the answers that name a device, in memory and in the store. A repeat fails and does not run again. */
  async forgetDevice(device: string): Promise<void> {
    this.forgetDeviceHere(device);
    await this.#dependencies.store.idempotencyRecords.replaceAnswersAbout(device, JSON.stringify(deleted));
  }

  /** Only in the memory of this node, from where a repeat reads the store again. */
  forgetDeviceHere(device: string): void {
    const named = JSON.stringify(device);
    for (const [name, { answer }] of this.#entries) {
      answer.then(
        (value) => {
          if (JSON.stringify(value).includes(named)) this.#drop(name);
        },
        () => undefined,
      );
    }
  }

  async #runOnce<Answer>(record: RecordKey, digest: string, work: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      this.#claims += 1;
      const claimed = { ...record, claim: `${this.#dependencies.run}/${this.#claims}` };
      const known = await this.#claim(claimed, digest);
      if (known === undefined) return await this.#runClaimed(claimed, work);
      requireSameRequest(known.digest, digest);
      const first = await this.#awaitFirstAnswer(record, known);
      // Released: the first request did not reach its device, so this one may run.
      if (first !== undefined) return readStored(first) as Answer;
    }
  }

  async #runClaimed<Answer>(record: RecordClaim, work: () => Promise<Answer>): Promise<Answer> {
    let decided = () => {};
    const name = nameOf(record);
    const running = new Promise<void>((resolve) => {
      decided = () => {
        this.#running.delete(name);
        resolve();
      };
    });
    this.#running.set(name, running);
    let value: Answer;
    try {
      value = await work();
    } catch (error) {
      if (!reachedDevice(error)) {
        await this.#unwritten.release(record).finally(decided);
        throw error;
      }
      const undecided = UndecidedError.in(error);
      if (undecided !== undefined) {
        void undecided.settled.then(async (outcome) => {
          if (outcome === "not sent") await this.#unwritten.release(record);
          else await this.#unwritten.finish(record, failureOf(error));
          decided();
        });
        // A repeat under the same key waits for the outcome and never runs the call twice.
        throw withRetryable(error, true);
      }
      await this.#unwritten.finish(record, failureOf(error)).finally(decided);
      throw withRetryable(error, false);
    }
    const text = JSON.stringify({ ok: true, value } satisfies StoredOutcome);
    const small = text.length <= maxStoredLength ? text : JSON.stringify(tooLarge);
    await this.#unwritten.finish(record, small).finally(decided);
    return value;
  }

  /** `undefined`: this request is the first one. */
  async #claim(record: RecordClaim, digest: string): Promise<IdempotencyRecord | undefined> {
    const { clock, store } = this.#dependencies;
    const { principal, key, claim: run } = record;
    try {
      const expiresAt = clock.now() + dayMs;
      return await store.idempotencyRecords.claim(principal, key, { digest, run, expiresAt });
    } catch (error) {
      // The record may have been inserted although the reply was lost.
      this.#unwritten.releaseLater(record);
      throw error;
    }
  }

  /** The stored answer; `undefined` if the first request did not reach its device. It may run on another node. */
  async #awaitFirstAnswer(record: RecordKey, first: IdempotencyRecord): Promise<string | undefined> {
    const { clock, store, run, isAlive } = this.#dependencies;
    const { principal, key } = record;
    const until = clock.monotonic() + limits.callTimeoutMs.max;
    for (let known: IdempotencyRecord | undefined = first; ; ) {
      if (known === undefined || known.answer !== undefined) return known?.answer;
      const unwritten = this.#unwritten.outcomeOf(known.run);
      if (unwritten !== undefined) return unwritten;
      const name = nameOf(record);
      const running = this.#running.get(name);
      // A claim of this run whose reply was lost: the store failed after it had inserted the record.
      const owner = ownerOf(known);
      const orphaned = owner === run && running === undefined && this.#open.get(name) === 1;
      if (orphaned) await this.#unwritten.release({ ...record, claim: known.run });
      else if (!isAlive(owner)) return await this.#outcomeOfLost(record, known);
      else if (clock.monotonic() >= until) throw outcomeUnknown(false);
      await new Promise<void>((resolve) => {
        const timer = clock.after(pollMs, resolve);
        void running?.then(() => {
          timer.cancel();
          resolve();
        });
      });
      known = await store.idempotencyRecords.get(principal, key);
    }
  }

  /** A node that is only frozen or cut off has the answer when it returns. After that the outcome stays unknown. */
  async #outcomeOfLost(record: RecordKey, known: IdempotencyRecord): Promise<string> {
    const { clock, mayReturn } = this.#dependencies;
    const claimedAt = known.expiresAt - dayMs;
    if (mayReturn(ownerOf(known)) && clock.now() - claimedAt < returnMs) throw outcomeUnknown(true);
    const lost = failureOf(outcomeUnknown(false));
    await this.#unwritten.finish({ ...record, claim: known.run }, lost);
    return lost;
  }

  #closed(name: string): void {
    const left = (this.#open.get(name) ?? 1) - 1;
    if (left === 0) this.#open.delete(name);
    else this.#open.set(name, left);
  }

  /** Bounds the total size of the answers, which may contain pictures. The oldest are dropped first. */
  #addSize(name: string, answer: unknown): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.bytes = JSON.stringify(answer).length;
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= limits.idempotencyBytes.max) return;
      this.#drop(oldest);
    }
  }

  #dropExpired(): void {
    const now = this.#dependencies.clock.now();
    for (const [name, entry] of this.#entries) {
      if (entry.expiresAt > now && this.#entries.size < limits.idempotencyKeys.max) return;
      this.#drop(name);
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#entries.get(name)?.bytes ?? 0;
    this.#entries.delete(name);
  }
}

const deleted: StoredOutcome = {
  ok: false,
  code: "conflict",
  detail: "a request with this Idempotency-Key has already run; its answer was deleted with the device",
  context: {},
};

const tooLarge: StoredOutcome = {
  ok: false,
  code: "conflict",
  detail: "a request with this Idempotency-Key has already run; its answer was too large to store",
  context: {},
};

function readStored(text: string): unknown {
  // Safe: only `#store` writes these records.
  const stored = JSON.parse(text) as StoredOutcome;
  if (stored.ok) return stored.value;
  const context = isObject(stored.context) ? stored.context : {};
  throw new TendonError(isErrorCode(stored.code) ? stored.code : "internal", stored.detail, context);
}

function requireSameRequest(known: string, digest: string): void {
  if (known === digest) return;
  throw new TendonError("conflict", "this Idempotency-Key belongs to a different request; use a new key");
}

function reachedDevice(error: unknown): error is TendonError {
  return error instanceof TendonError && error.context["sent"] === true;
}

/** The run of the gateway that made the claim. */
function ownerOf({ run }: IdempotencyRecord): string {
  return run.split("/", 1)[0] ?? run;
}

function nameOf({ principal, key }: RecordKey): string {
  return `${principal}\u0000${key}`;
}

function failureOf({ code, message, context }: TendonError): string {
  const failure = { ok: false, code, detail: message, context: { ...context, retryable: false } } as const;
  return JSON.stringify(failure satisfies StoredOutcome);
}

/** A repeat gets the stored answer, so it is useless once there is one. */
function withRetryable(error: TendonError, retryable: boolean): TendonError {
  return new TendonError(error.code, error.message, { ...error.context, retryable }, error);
}

function outcomeUnknown(retryable: boolean): TendonError {
  const detail = "the gateway stopped while this request ran; it is unknown whether the device ran it";
  return new TendonError("device_disconnected", detail, { sent: true, retryable });
}
