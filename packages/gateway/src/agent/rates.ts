/**
 * How much one principal, and one address, may ask for [RATE-1…4]. Only what comes in from the north is counted:
 * devices have bounds of their own, so that a whole fleet can stand behind one address. What is remembered is
 * bounded; whoever has not been seen for long is forgotten first.
 */
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events.ts";
import { type Principal, sourceOf, type Tokens } from "../registry/registry.ts";

export interface RatesNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly tokens: Pick<Tokens, "identify">;
  readonly settings: Config["limits"];
}

type Rate = Config["limits"]["principal"];

interface Source {
  readonly requests: Bucket;
  readonly failures: Bucket;
  /** Whose tokens came from here: they get in however many others fail. */
  readonly known: Set<string>;
}

export class Rates {
  readonly #needs: RatesNeeds;
  readonly #principals: Recent<Bucket>;
  readonly #sources: Recent<Source>;

  constructor(needs: RatesNeeds) {
    this.#needs = needs;
    const { principal, address, failedSignIns } = needs.settings;
    const now = () => needs.clock.monotonic();
    this.#principals = new Recent(() => new Bucket(principal, now()));
    this.#sources = new Recent(() => ({
      requests: new Bucket(address, now()),
      failures: new Bucket(failedSignIns, now()),
      known: new Set(),
    }));
  }

  /**
   * Whose token this is; `undefined` for nobody's. An address that has failed too often is told to wait whatever it
   * sends, so that guessing tells nothing, unless the token's owner has come from there before.
   */
  identify(token: string | undefined, from: string | undefined, connection?: object): Principal | undefined {
    const now = this.#needs.clock.monotonic();
    // Nearly all addresses are what they are; only those with colons have a network to be looked for.
    const source = this.#sources.of(from?.includes(":") === true ? sourceOf(from) : (from ?? ""));
    if (!source.requests.take(now)) throw this.#limited("address", source.requests, from);
    const principal = token === undefined ? undefined : this.#needs.tokens.identify(token, connection);
    const guessing = source.failures.isEmpty(now);
    if (principal === undefined) {
      if (guessing) throw this.#limited("sign-in", source.failures, from);
      source.failures.take(now);
      return undefined;
    }
    if (!source.known.has(principal.id)) {
      if (guessing) throw this.#limited("sign-in", source.failures, from);
      if (source.known.size < limits.principalsPerSource.max) source.known.add(principal.id);
    }
    this.#spend(principal, now);
    return principal;
  }

  /** One request of somebody who has signed in before; throws where there were too many. */
  spend(principal: Principal): void {
    this.#spend(principal, this.#needs.clock.monotonic());
  }

  #spend(principal: Principal, now: number): void {
    const bucket = this.#principals.of(principal.id);
    if (!bucket.take(now)) throw this.#limited("principal", bucket, principal.name);
  }

  #limited(by: keyof typeof words, bucket: Bucket, who: string | undefined): TendonError {
    this.#needs.events.limited(by, bucket.tell() ? (who ?? "") : undefined);
    return new TendonError("rate_limited", words[by], { retryAfterMs: bucket.waitMs });
  }
}

const words = {
  principal: "this token asks for too much at once; wait a little",
  address: "too many requests from this address; wait a little",
  "sign-in": "too many failed sign-ins from this address; wait a little",
} as const;

/** So many a second for long, and a burst beside. */
class Bucket {
  readonly #perMs: number;
  readonly #burst: number;
  #left: number;
  #at: number;
  /** Whether it has been told that it ran dry, since it was last half full. */
  #told = false;

  constructor({ perSecond, burst }: Rate, now: number) {
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
    this.#left = burst;
    this.#at = now;
  }

  take(now: number): boolean {
    if (this.isEmpty(now)) return false;
    this.#left -= 1;
    return true;
  }

  isEmpty(now: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs);
    this.#at = now;
    if (this.#told && this.#left * 2 >= this.#burst) this.#told = false;
    return this.#left < 1;
  }

  /** How long until there is one again, at least. */
  get waitMs(): number {
    return Math.max(1, Math.ceil((1 - this.#left) / this.#perMs));
  }

  /** The first time says yes: a flood is one line in the log. */
  tell(): boolean {
    const first = !this.#told;
    this.#told = true;
    return first;
  }
}

/** The most recently used of something, by name, in two halves: when the newer is full, the older is dropped. */
class Recent<Value> {
  readonly #make: () => Value;
  #newer = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(make: () => Value) {
    this.#make = make;
  }

  of(name: string): Value {
    const known = this.#newer.get(name);
    if (known !== undefined) return known;
    const value = this.#older.get(name) ?? this.#make();
    if (this.#newer.size * 2 >= limits.throttledSources.max) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(name, value);
    return value;
  }
}
