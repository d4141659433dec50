/**
 * Authenticates tokens, and limits the requests of each principal and each address [RATE-1…5]. Every interface uses it.
 * Devices have limits of their own, so that a whole fleet can share one address. The memory is bounded: the least
 * recently seen principals and addresses are dropped first.
 */
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Principal } from "./principal.ts";
import { Bucket, Recent } from "./rate-buckets.ts";
import { sourceOf } from "./throttle.ts";
import type { Tokens } from "./tokens.ts";

export interface AuthenticationDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly tokens: Pick<Tokens, "identify" | "used">;
  readonly settings: Config["limits"];
}

/** Requests counted on one node, as it reports them to the others. */
export type Spent = readonly (readonly [kind: Kind, name: string, count: number])[];

type Kind = "principal" | "address" | "sign-in";

interface Source {
  readonly requests: Bucket;
  readonly failures: Bucket;
  /** Principals that have signed in from here: failures of others do not lock them out. */
  readonly known: Set<string>;
}

const reportEveryMs = 1_000;
/** Names are short, so a message with this many entries is far below NATS's limit. */
const maxReported = 1_000;

export class Authentication {
  readonly #dependencies: AuthenticationDependencies;
  readonly #principals: Recent<Bucket>;
  readonly #sources: Recent<Source>;
  /** Buckets with unreported requests; `undefined` without other nodes. */
  #unreported: Map<Bucket, readonly [Kind, string]> | undefined;
  #report: (spent: Spent) => void = () => {};

  constructor(dependencies: AuthenticationDependencies) {
    this.#dependencies = dependencies;
    const { principal, address, failedSignIns } = dependencies.settings;
    const now = () => dependencies.clock.monotonic();
    this.#principals = new Recent(() => new Bucket(principal, now()));
    this.#sources = new Recent(() => ({
      requests: new Bucket(address, now()),
      failures: new Bucket(failedSignIns, now()),
      known: new Set(),
    }));
  }

  /**
   * The principal of a token; `undefined` for an unknown one. An address with too many failures must wait even with a
   * valid token, so that guessing reveals nothing, unless that principal has signed in from there before. `connection`
   * is an object that later requests with the same token share.
   */
  identify(token: string | undefined, from: string | undefined, connection?: object): Principal | undefined {
    const { tokens } = this.#dependencies;
    return this.admit(
      () => (token === undefined ? undefined : tokens.identify(token, from, connection)),
      from,
    );
  }

  /** The same for credentials that are not a token; `find` returns their principal. */
  admit(find: () => Principal | undefined, from: string | undefined): Principal | undefined {
    const now = this.#dependencies.clock.monotonic();
    // Only IPv6 addresses need `sourceOf`; skipping it for the others is faster.
    const address = from?.includes(":") === true ? sourceOf(from) : (from ?? "");
    const source = this.#sources.of(address);
    if (!this.#take("address", address, source.requests, now))
      throw this.#limited("address", source.requests, from);
    const principal = find();
    const guessing = source.failures.isEmpty(now);
    if (principal === undefined) {
      if (guessing) throw this.#limited("sign-in", source.failures, from);
      this.#take("sign-in", address, source.failures, now);
      return undefined;
    }
    if (!source.known.has(principal.id)) {
      if (guessing) throw this.#limited("sign-in", source.failures, from);
      if (source.known.size < limits.principalsPerSource.max) source.known.add(principal.id);
    }
    this.#spend(principal, now);
    return principal;
  }

  /** Counts a request of a principal that is already known. Throws `rate_limited`. */
  spend(principal: Principal): void {
    this.#spend(principal, this.#dependencies.clock.monotonic());
  }

  /** Counts a request of a session, which is also a use of the token that opened it. Throws `rate_limited`. */
  spendSession(principal: Principal, from: string): void {
    this.spend(principal);
    this.#dependencies.tokens.used(principal.id, from);
  }

  #spend(principal: Principal, now: number): void {
    const bucket = this.#principals.of(principal.id);
    if (!this.#take("principal", principal.id, bucket, now))
      throw this.#limited("principal", bucket, principal.name);
  }

  /**
   * Makes the limits apply across all nodes [RATE-5]. Each node reports its counts every second, and at once when they
   * are a considerable part of a burst. Requests do not wait for it. Returns the function that ends it.
   */
  shareWith(report: (spent: Spent) => void): () => void {
    this.#unreported = new Map();
    this.#report = report;
    const timer = this.#dependencies.clock.every(reportEveryMs, () => this.#reportAll());
    return () => timer.cancel();
  }

  /** Counts the requests that another node reports. */
  applySpent(spent: Spent): void {
    const now = this.#dependencies.clock.monotonic();
    for (const [kind, name, count] of spent) {
      const bucket =
        kind === "principal"
          ? this.#principals.of(name)
          : this.#sources.of(name)[kind === "address" ? "requests" : "failures"];
      bucket.applySpent(count, now);
    }
  }

  #take(kind: Kind, name: string, bucket: Bucket, now: number): boolean {
    if (!bucket.take(now)) return false;
    if (this.#unreported === undefined) return true;
    if (bucket.worthReporting) {
      this.#unreported.delete(bucket);
      this.#report([[kind, name, bucket.unreported]]);
      bucket.unreported = 0;
    } else if (bucket.unreported === 1) this.#unreported.set(bucket, [kind, name]);
    return true;
  }

  #reportAll(): void {
    let spent: [Kind, string, number][] = [];
    for (const [bucket, [kind, name]] of this.#unreported ?? []) {
      spent.push([kind, name, bucket.unreported]);
      bucket.unreported = 0;
      if (spent.length < maxReported) continue;
      this.#report(spent);
      spent = [];
    }
    if (spent.length > 0) this.#report(spent);
    this.#unreported?.clear();
  }

  #limited(by: keyof typeof details, bucket: Bucket, who: string | undefined): TendonError {
    this.#dependencies.events.limited(by, bucket.shouldLog() ? (who ?? "") : undefined);
    return new TendonError("rate_limited", details[by], {
      retryAfterMs: bucket.waitMs(this.#dependencies.clock.monotonic()),
    });
  }
}

const details = {
  principal: "too many requests with this token; retry later",
  address: "too many requests from this address; retry later",
  "sign-in": "too many failed sign-ins from this address; retry later",
} as const;
