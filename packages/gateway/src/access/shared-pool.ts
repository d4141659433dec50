import { TendonError } from "../errors.ts";
import { hasScope, type Principal } from "./principal.ts";

/** The part of a pool that one principal may use, and the part that only administrators get. */
const share = 1 / 4;
const keptForAdmins = 1 / 8;

/** A bounded number of places that all principals share, so that none of them can use up all. */
export class SharedPool {
  readonly #max: number;
  /** Of what there are too many, for the error. */
  readonly #what: string;
  readonly #byPrincipal = new Map<string, number>();
  #taken = 0;

  constructor(max: number, what: string) {
    this.#max = max;
    this.#what = what;
  }

  /** Takes a place; throws `rate_limited`. The returned function gives it back. */
  take(principal: Principal): () => void {
    const { id } = principal;
    const own = this.#byPrincipal.get(id) ?? 0;
    const isAdmin = hasScope(principal, "admin");
    if (!isAdmin && own >= this.#max * share)
      throw new TendonError("rate_limited", `this token has too many ${this.#what}; end one, or retry later`);
    if (this.#taken >= this.#max * (isAdmin ? 1 : 1 - keptForAdmins))
      throw new TendonError("rate_limited", `there are too many ${this.#what}; retry later`);
    this.#byPrincipal.set(id, own + 1);
    this.#taken += 1;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#taken -= 1;
      const left = (this.#byPrincipal.get(id) ?? 1) - 1;
      if (left === 0) this.#byPrincipal.delete(id);
      else this.#byPrincipal.set(id, left);
    };
  }
}
