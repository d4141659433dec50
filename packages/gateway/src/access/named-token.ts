/**
 * A token that the configuration refers to by its name (`token: NAME`). A missing, revoked or expired token is no error:
 * what uses it waits, and starts when a token of that name exists.
 */
import type { Principal } from "./principal.ts";
import type { Tokens } from "./tokens.ts";

export type NamedTokenState =
  | { readonly kind: "valid"; readonly principal: Principal }
  | { readonly kind: "waiting_for_token"; readonly detail: string };

export class NamedToken {
  readonly name: string;
  readonly #tokens: Pick<Tokens, "namesakes" | "onChange">;
  readonly #changed: (state: NamedTokenState) => void;
  readonly #unsubscribe: () => void;
  #state: NamedTokenState;

  /** `changed` is called when another principal is valid, or none is any more. */
  constructor(
    tokens: Pick<Tokens, "namesakes" | "onChange">,
    name: string,
    changed: (state: NamedTokenState) => void = () => undefined,
  ) {
    this.name = name;
    this.#tokens = tokens;
    this.#changed = changed;
    this.#state = this.#read();
    this.#unsubscribe = tokens.onChange(() => this.#update());
  }

  get state(): NamedTokenState {
    return this.#state;
  }

  /** The principal of the token; `undefined` while it waits for one. */
  get principal(): Principal | undefined {
    return this.#state.kind === "valid" ? this.#state.principal : undefined;
  }

  stop(): void {
    this.#unsubscribe();
  }

  #read(): NamedTokenState {
    const [principal, ...others] = this.#tokens.namesakes(this.name);
    if (principal === undefined) {
      const detail = `no valid token is named \`${this.name}\`; create it with: tendon token create ${this.name}`;
      return { kind: "waiting_for_token", detail };
    }
    if (others.length === 0) return { kind: "valid", principal };
    const detail = `${others.length + 1} valid tokens are named \`${this.name}\`, so none of them is used; revoke all but one`;
    return { kind: "waiting_for_token", detail };
  }

  #update(): void {
    const before = this.#state;
    this.#state = this.#read();
    const isSame =
      before.kind === "valid"
        ? this.principal?.id === before.principal.id
        : this.#state.kind === before.kind && this.#state.detail === before.detail;
    if (!isSame) this.#changed(this.#state);
  }
}
