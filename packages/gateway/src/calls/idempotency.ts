/**
 * `Idempotency-Key`: the same request under the same key runs once [CALL-7], on any node and also after a restart.
 * A repeat gets the first answer, and waits for it while the first request runs. A call that did not reach its device
 * is not stored, so that a client can retry it. If the outcome is unknown, the repeat fails and does not run.
 */
import { createHash } from "node:crypto";
import { isErrorCode, isObject, limits } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { IdempotencyRecord, Store } from "../store/store.ts";

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
  readonly store: Pick<Store, "idempotencyRecords">;
  /** This run of the gateway. */
  readonly run: string;
  readonly isAlive: (run: string) => boolean;
  readonly onFault: (error: unknown) => void;
}

const dayMs = 24 * 60 * 60 * 1000;
const pollMs = 200;
/** Enough for one or two pictures. Of a larger answer only the fact that the request ran is stored. */
const maxStoredLength = 4 * 1024 * 1024;

export class Idempotency {
  readonly #dependencies: IdempotencyDependencies;
  /** The requests of this run, oldest first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(dependencies: IdempotencyDependencies) {
    this.#dependencies = dependencies;
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
    const name = `${principal.id}\u0000${key}`;
    const digest = createHash("sha256").update(JSON.stringify(request)).digest("base64");
    const known = this.#entries.get(name);
    if (known !== undefined) {
      requireSameRequest(known.digest, digest);
      // Safe: the digest covers which request it is, and a request has one kind of answer.
      return known.answer as Promise<Answer>;
    }
    const answer = this.#runOnce(principal.id, key, digest, work);
    this.#entries.set(name, { digest, answer, expiresAt: this.#dependencies.clock.now() + dayMs, bytes: 0 });
    answer.then(
      (value) => this.#addSize(name, value),
      (error: unknown) => {
        if (!reachedDevice(error)) this.#drop(name);
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

  async #runOnce<Answer>(
    principal: string,
    key: string,
    digest: string,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const { idempotencyRecords } = this.#dependencies.store;
    const known = await this.#claim(principal, key, digest);
    if (known === "unavailable") return await work();
    if (known !== undefined) {
      requireSameRequest(known.digest, digest);
      return (await this.#awaitFirstAnswer(principal, key, known)) as Answer;
    }
    try {
      const value = await work();
      await this.#store(principal, key, { ok: true, value });
      return value;
    } catch (error) {
      if (reachedDevice(error)) {
        const { code, message, context } = error;
        await this.#store(principal, key, { ok: false, code, detail: message, context });
      } else await idempotencyRecords.release(principal, key).catch(this.#dependencies.onFault);
      throw error;
    }
  }

  /** Without the store the call still runs, and only this process remembers its answer. */
  async #claim(
    principal: string,
    key: string,
    digest: string,
  ): Promise<IdempotencyRecord | undefined | "unavailable"> {
    const { clock, run, store } = this.#dependencies;
    try {
      return await store.idempotencyRecords.claim(principal, key, {
        digest,
        run,
        expiresAt: clock.now() + dayMs,
      });
    } catch (error) {
      this.#dependencies.onFault(error);
      return "unavailable";
    }
  }

  async #store(principal: string, key: string, stored: StoredOutcome): Promise<void> {
    const text = JSON.stringify(stored);
    const small = text.length <= maxStoredLength ? text : JSON.stringify(tooLarge);
    await this.#dependencies.store.idempotencyRecords
      .finish(principal, key, small)
      .catch(this.#dependencies.onFault);
  }

  /** Waits for a request that runs on another node or was started by an earlier run of this one. */
  async #awaitFirstAnswer(principal: string, key: string, first: IdempotencyRecord): Promise<unknown> {
    const { clock, store, isAlive } = this.#dependencies;
    const until = clock.monotonic() + limits.callTimeoutMs.max;
    for (let known: IdempotencyRecord | undefined = first; ; ) {
      if (known?.answer !== undefined) return readStored(known.answer);
      if (known === undefined || !isAlive(known.run) || clock.monotonic() >= until) throw outcomeUnknown();
      await new Promise<void>((resolve) => {
        clock.after(pollMs, resolve);
      });
      known = await store.idempotencyRecords.get(principal, key);
    }
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

function outcomeUnknown(): TendonError {
  const detail = "the gateway stopped while this request ran; it is unknown whether the device ran it";
  return new TendonError("device_disconnected", detail, { sent: true });
}
