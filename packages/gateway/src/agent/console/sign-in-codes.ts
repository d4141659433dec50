/** One-time codes: each stands for its maker's token, once and not for long [CON-2]. */
import { hash, randomInt } from "node:crypto";
import { limits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";

const lifetimeMs = 15 * 60_000;
/** Letters and digits that are not taken for one another when they are typed. */
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789";
const groups = 4;
const groupLength = 4;

export class SignInCodes {
  readonly #clock: Clock;
  readonly #open = new Map<string, { readonly principalId: string; readonly expiresAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(principalId: string): { readonly code: string; readonly expiresAt: number } {
    const group = () =>
      Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join("");
    const code = Array.from({ length: groups }, group).join("-");
    const expiresAt = this.#clock.now() + lifetimeMs;
    this.#open.set(keyOf(code), { principalId, expiresAt });
    if (this.#open.size > limits.signInCodes.max) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.#open.delete(oldest);
    }
    return { code, expiresAt };
  }

  /** Whose code it was; from now on it is nobody's. */
  take(text: string): string | undefined {
    const key = keyOf(text);
    const held = this.#open.get(key);
    this.#open.delete(key);
    return held === undefined || held.expiresAt <= this.#clock.now() ? undefined : held.principalId;
  }
}

/** Typed by hand it may come in capitals, with spaces, or without its dashes. */
function keyOf(text: string): string {
  return hash("sha256", text.toLowerCase().replace(/[^a-z0-9]/g, ""));
}
