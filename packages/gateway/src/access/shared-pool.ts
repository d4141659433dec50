import { TendonError } from "../errors.ts";
import { hasScope, type Principal } from "./principal.ts";
import { sourceOf } from "./throttle.ts";

/** The parts of a pool that one principal and one address may use, and the part that only administrators get. */
const principalShare = 1 / 4;
const addressShare = 3 / 4;
const keptForAdmins = 1 / 8;

/** A bounded number of places that all principals share, so that none of them can use up all. */
export class SharedPool {
  readonly #max: number;
  /** Of what there are too many, for the error. */
  readonly #what: string;
  readonly #byPrincipal = new Counts();
  readonly #byAddress = new Counts();
  #taken = 0;

  constructor(max: number, what: string) {
    this.#max = max;
    this.#what = what;
  }

  /** Takes a place; throws `rate_limited`. `from` is the client's address. The returned function gives the place back. */
  take(principal: Principal, from = ""): () => void {
    const { id } = principal;
    const address = sourceOf(from);
    const isAdmin = hasScope(principal, "admin");
    if (!isAdmin && this.#byPrincipal.of(id) >= this.#max * principalShare)
      throw new TendonError("rate_limited", `this token has too many ${this.#what}; end one, or retry later`);
    if (!isAdmin && from !== "" && this.#byAddress.of(address) >= this.#max * addressShare)
      throw new TendonError(
        "rate_limited",
        `this address has too many ${this.#what}; end one, or retry later`,
      );
    if (this.#taken >= this.#max * (isAdmin ? 1 : 1 - keptForAdmins))
      throw new TendonError("rate_limited", `there are too many ${this.#what}; retry later`);
    const change = (by: 1 | -1) => {
      this.#byPrincipal.add(id, by);
      this.#byAddress.add(address, by);
      this.#taken += by;
    };
    change(1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      change(-1);
    };
  }
}

class Counts {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, by: number): void {
    const count = this.of(name) + by;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
