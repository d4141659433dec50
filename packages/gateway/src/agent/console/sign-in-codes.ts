/** One-time codes: each signs in once, with the token that created it, within 15 minutes [CON-2]. */
import { hash, randomInt } from "node:crypto";
import { limits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";

const lifetimeMs = 15 * 60_000;
/** Without letters and digits that look alike. */
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
    this.#dropBeyondShare(principalId);
    return { code, expiresAt };
  }

  /** Many codes of one token replace that token's own, never those of another. */
  #dropBeyondShare(principalId: string): void {
    const now = this.#clock.now();
    const own: string[] = [];
    for (const [key, code] of this.#open) {
      if (code.expiresAt <= now) this.#open.delete(key);
      else if (code.principalId === principalId) own.push(key);
    }
    for (const oldest of own.slice(0, -limits.signInCodes.max)) this.#open.delete(oldest);
  }

  /** Uses up the code; returns the principal that created it. */
  take(text: string): string | undefined {
    const key = keyOf(text);
    const found = this.#open.get(key);
    this.#open.delete(key);
    return found === undefined || found.expiresAt <= this.#clock.now() ? undefined : found.principalId;
  }
}

/** A typed code may have capitals or spaces, or lack its dashes. */
function keyOf(text: string): string {
  return hash("sha256", text.toLowerCase().replace(/[^a-z0-9]/g, ""));
}
