/**
 * Whose token a request carries, and how much each principal and each address may ask for [RATE-1…5]. Clients of every
 * interface pass here. Devices have limits of their own, so that a whole fleet can share one address. The memory is
 * bounded: principals and addresses that have not been seen for the longest time are forgotten first.
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
  readonly tokens: Pick<Tokens, "identify">;
  readonly settings: Config["limits"];
}

/** What was spent at one node, as the others are told: of what, whose, how much. */
export type Spent = readonly (readonly [kind: Kind, name: string, count: number])[];

type Kind = "principal" | "address" | "sign-in";

interface Source {
  readonly requests: Bucket;
  readonly failures: Bucket;
  /** Whose tokens came from here: they get in however many others fail. */
  readonly known: Set<string>;
}

const tellEveryMs = 1_000;
/** Names are short: a message of this many is far from what NATS takes. */
const toldAtOnce = 1_000;

export class Authentication {
  readonly #dependencies: AuthenticationDependencies;
  readonly #principals: Recent<Bucket>;
  readonly #sources: Recent<Source>;
  /** What other nodes have not been told yet; `undefined` where there are none. */
  #untold: Map<Bucket, readonly [Kind, string]> | undefined;
  #tell: (spent: Spent) => void = () => {};

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
   * The principal of a token; `undefined` for an unknown one. An address that failed too often has to wait whatever it
   * sends, so that guessing reveals nothing, unless the token's owner has come from there before. `connection`: where
   * more requests with the same token may follow.
   */
  identify(token: string | undefined, from: string | undefined, connection?: object): Principal | undefined {
    const now = this.#dependencies.clock.monotonic();
    // Nearly all addresses are what they are; only those with colons have a network to be looked for.
    const address = from?.includes(":") === true ? sourceOf(from) : (from ?? "");
    const source = this.#sources.of(address);
    if (!this.#take("address", address, source.requests, now))
      throw this.#limited("address", source.requests, from);
    const principal = token === undefined ? undefined : this.#dependencies.tokens.identify(token, connection);
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

  #spend(principal: Principal, now: number): void {
    const bucket = this.#principals.of(principal.id);
    if (!this.#take("principal", principal.id, bucket, now))
      throw this.#limited("principal", bucket, principal.name);
  }

  /**
   * Makes the limits those of all nodes [RATE-5]: each tells the others what was spent at it, when that is a part of
   * a burst, and every second. Requests do not wait for it. Returns the function that ends it.
   */
  shareWith(tell: (spent: Spent) => void): () => void {
    this.#untold = new Map();
    this.#tell = tell;
    const timer = this.#dependencies.clock.every(tellEveryMs, () => this.#tellAll());
    return () => timer.cancel();
  }

  /** What was spent at another node. */
  heard(spent: Spent): void {
    const now = this.#dependencies.clock.monotonic();
    for (const [kind, name, count] of spent) {
      const bucket =
        kind === "principal"
          ? this.#principals.of(name)
          : this.#sources.of(name)[kind === "address" ? "requests" : "failures"];
      bucket.spentElsewhere(count, now);
    }
  }

  #take(kind: Kind, name: string, bucket: Bucket, now: number): boolean {
    if (!bucket.take(now)) return false;
    if (this.#untold === undefined) return true;
    if (bucket.worthTelling) {
      this.#untold.delete(bucket);
      this.#tell([[kind, name, bucket.untold]]);
      bucket.untold = 0;
    } else if (bucket.untold === 1) this.#untold.set(bucket, [kind, name]);
    return true;
  }

  #tellAll(): void {
    let spent: [Kind, string, number][] = [];
    for (const [bucket, [kind, name]] of this.#untold ?? []) {
      spent.push([kind, name, bucket.untold]);
      bucket.untold = 0;
      if (spent.length < toldAtOnce) continue;
      this.#tell(spent);
      spent = [];
    }
    if (spent.length > 0) this.#tell(spent);
    this.#untold?.clear();
  }

  #limited(by: keyof typeof words, bucket: Bucket, who: string | undefined): TendonError {
    this.#dependencies.events.limited(by, bucket.tell() ? (who ?? "") : undefined);
    return new TendonError("rate_limited", words[by], {
      retryAfterMs: bucket.waitMs(this.#dependencies.clock.monotonic()),
    });
  }
}

const words = {
  principal: "this token asks for too much at once; wait a little",
  address: "too many requests from this address; wait a little",
  "sign-in": "too many failed sign-ins from this address; wait a little",
} as const;
