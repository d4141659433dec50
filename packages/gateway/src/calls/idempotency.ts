/**
 * `Idempotency-Key`: the same request under the same key runs once [CALL-7], on whatever node it comes in and after
 * a restart too. A repeat gets the first answer, waiting for it if it still runs. A call that never reached its
 * device leaves no trace, so that it can be tried again; one whose fate nobody knows is said to be so, and not run.
 */
import { createHash } from "node:crypto";
import { isErrorCode, isObject, limits } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { FirstAnswer, Store } from "../store/store.ts";

interface Entry {
  readonly digest: string;
  readonly answer: Promise<unknown>;
  readonly expiresAt: number;
  /** Known once it is answered. */
  bytes: number;
}

type Kept =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly detail: string; readonly context: object };

export interface IdempotencyNeeds {
  readonly clock: Clock;
  readonly store: Pick<Store, "firstAnswers">;
  /** This run of the gateway, and whether another one still is. */
  readonly run: string;
  readonly isAlive: (run: string) => boolean;
  readonly onFault: (error: unknown) => void;
}

const dayMs = 24 * 60 * 60 * 1000;
const lookAgainMs = 200;
/** A picture or two; what is larger is not kept, only that it ran. */
const mostKept = 4 * 1024 * 1024;

export class Idempotency {
  readonly #needs: IdempotencyNeeds;
  /** What this run has seen, in order of arrival, so that the oldest are the first to go. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(needs: IdempotencyNeeds) {
    this.#needs = needs;
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
        `Idempotency-Key may have ${limits.idempotencyKeyLength.max} characters`,
      );
    }
    this.#forgetOld();
    const name = `${principal.id}\u0000${key}`;
    const digest = createHash("sha256").update(JSON.stringify(request)).digest("base64");
    const known = this.#entries.get(name);
    if (known !== undefined) {
      refuseAnother(known.digest, digest);
      // Safe: the digest covers which request it is, and a request has one kind of answer.
      return known.answer as Promise<Answer>;
    }
    const answer = this.#runOnce(principal.id, key, digest, work);
    this.#entries.set(name, { digest, answer, expiresAt: this.#needs.clock.now() + dayMs, bytes: 0 });
    answer.then(
      (value) => this.#weigh(name, value),
      (error: unknown) => {
        if (!reached(error)) this.#forget(name);
      },
    );
    return answer;
  }

  async #runOnce<Answer>(
    principal: string,
    key: string,
    digest: string,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const { firstAnswers } = this.#needs.store;
    const known = await this.#claim(principal, key, digest);
    if (known === "away") return await work();
    if (known !== undefined) {
      refuseAnother(known.digest, digest);
      return (await this.#firstAnswer(principal, key, known)) as Answer;
    }
    try {
      const value = await work();
      await this.#keep(principal, key, { ok: true, value });
      return value;
    } catch (error) {
      if (reached(error)) {
        const { code, message, context } = error;
        await this.#keep(principal, key, { ok: false, code, detail: message, context });
      } else await firstAnswers.release(principal, key).catch(this.#needs.onFault);
      throw error;
    }
  }

  /** A store that is away stops no call: then only this run remembers. */
  async #claim(principal: string, key: string, digest: string): Promise<FirstAnswer | undefined | "away"> {
    const { clock, run, store } = this.#needs;
    try {
      return await store.firstAnswers.claim(principal, key, {
        digest,
        run,
        expiresAt: clock.now() + dayMs,
      });
    } catch (error) {
      this.#needs.onFault(error);
      return "away";
    }
  }

  async #keep(principal: string, key: string, kept: Kept): Promise<void> {
    const text = JSON.stringify(kept);
    const small = text.length <= mostKept ? text : JSON.stringify(tooLarge);
    await this.#needs.store.firstAnswers.finish(principal, key, small).catch(this.#needs.onFault);
  }

  /** It runs on another node, or ran in an earlier life of this one. */
  async #firstAnswer(principal: string, key: string, first: FirstAnswer): Promise<unknown> {
    const { clock, store, isAlive } = this.#needs;
    const until = clock.monotonic() + limits.callTimeoutMs.max;
    for (let known: FirstAnswer | undefined = first; ; ) {
      if (known?.answer !== undefined) return read(known.answer);
      if (known === undefined || !isAlive(known.run) || clock.monotonic() >= until) throw unknownFate();
      await new Promise<void>((resolve) => {
        clock.after(lookAgainMs, resolve);
      });
      known = await store.firstAnswers.get(principal, key);
    }
  }

  /** Answers may hold pictures: what all of them take together is bounded, and the oldest go first. */
  #weigh(name: string, answer: unknown): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.bytes = JSON.stringify(answer).length;
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= limits.idempotencyBytes.max) return;
      this.#forget(oldest);
    }
  }

  #forgetOld(): void {
    const now = this.#needs.clock.now();
    for (const [name, entry] of this.#entries) {
      if (entry.expiresAt > now && this.#entries.size < limits.idempotencyKeys.max) return;
      this.#forget(name);
    }
  }

  #forget(name: string): void {
    this.#bytes -= this.#entries.get(name)?.bytes ?? 0;
    this.#entries.delete(name);
  }
}

const tooLarge: Kept = {
  ok: false,
  code: "conflict",
  detail: "this request ran under its Idempotency-Key; its answer was too large to be kept",
  context: {},
};

function read(text: string): unknown {
  // Safe: only `#keep` writes answers.
  const kept = JSON.parse(text) as Kept;
  if (kept.ok) return kept.value;
  const context = isObject(kept.context) ? kept.context : {};
  throw new TendonError(isErrorCode(kept.code) ? kept.code : "internal", kept.detail, context);
}

function refuseAnother(known: string, digest: string): void {
  if (known === digest) return;
  throw new TendonError("conflict", "this Idempotency-Key was used for another request");
}

function reached(error: unknown): error is TendonError {
  return error instanceof TendonError && error.context["sent"] === true;
}

function unknownFate(): TendonError {
  const detail = "the gateway ended while this request ran; whether it was carried out is not known";
  return new TendonError("device_disconnected", detail, { sent: true });
}
