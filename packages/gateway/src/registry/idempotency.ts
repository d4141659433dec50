/**
 * `Idempotency-Key`: the same request under the same key runs once [CALL-7]. A repeat gets the first answer, waiting
 * for it if it still runs. A call that never reached its device leaves no trace, so that it can be tried again.
 */
import { createHash } from "node:crypto";
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Principal } from "./access.ts";

interface Entry {
  readonly digest: string;
  readonly answer: Promise<unknown>;
  readonly expiresAt: number;
  /** Known once it is answered. */
  bytes: number;
}

const dayMs = 24 * 60 * 60 * 1000;

export class Idempotency {
  readonly #clock: Clock;
  /** In order of arrival, so that the oldest are the first to go. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
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
      if (known.digest !== digest) {
        throw new TendonError("conflict", "this Idempotency-Key was used for another request");
      }
      // Safe: the digest covers which request it is, and a request has one kind of answer.
      return known.answer as Promise<Answer>;
    }
    const answer = work();
    this.#entries.set(name, { digest, answer, expiresAt: this.#clock.now() + dayMs, bytes: 0 });
    answer.then(
      (value) => this.#weigh(name, value),
      (error: unknown) => {
        const reached = error instanceof TendonError && error.context["sent"] === true;
        if (!reached) this.#forget(name);
      },
    );
    return answer;
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
    const now = this.#clock.now();
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
