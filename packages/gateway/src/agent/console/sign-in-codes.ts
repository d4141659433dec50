/**
 * One-time codes: each signs in once, with the token that created it, within 15 minutes [CON-2]. The storage has the hash
 * of each code, so that it works on every node, once. A code that could not be stored works on this node only.
 */
import { hash, randomInt } from "node:crypto";
import { limits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";

/** A code as the storage knows it. Its key is a hash, which does not sign anyone in. */
interface SignInCodeRecord {
  readonly key: string;
  readonly principalId: string;
  /** The token that made it: a principal's id may outlive its token. */
  readonly credential: string;
  readonly expiresAt: number;
}

export interface SignInCodeStorage {
  add(code: SignInCodeRecord): Promise<void>;
  /** Removes the code and returns it; one of several callers gets it. */
  take(key: string): Promise<SignInCodeRecord | undefined>;
  remove(keys: readonly string[]): Promise<void>;
}

export interface SignInCodesDependencies {
  readonly clock: Clock;
  readonly storage: SignInCodeStorage;
  readonly credentialOf: (principalId: string) => string | undefined;
}

interface MadeCode extends SignInCodeRecord {
  /** Whether the storage has it. */
  readonly stored: Promise<boolean>;
}

const lifetimeMs = 15 * 60_000;
/** Without letters and digits that look alike. */
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789";
const groups = 4;
const groupLength = 4;

export class SignInCodes {
  readonly #dependencies: SignInCodesDependencies;
  /** The unused codes that this node made. */
  readonly #made = new Map<string, MadeCode>();

  constructor(dependencies: SignInCodesDependencies) {
    this.#dependencies = dependencies;
  }

  /** `stored` resolves when the code works on every node, or when it cannot be stored. */
  make(principalId: string): {
    readonly code: string;
    readonly expiresAt: number;
    readonly stored: Promise<boolean>;
  } {
    const { clock, storage, credentialOf } = this.#dependencies;
    const group = () =>
      Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join("");
    const code = Array.from({ length: groups }, group).join("-");
    const expiresAt = clock.now() + lifetimeMs;
    const credential = credentialOf(principalId) ?? "";
    const record = { key: keyOf(code), principalId, credential, expiresAt };
    const stored = storage.add(record).then(
      () => true,
      // The store itself reports that it is unavailable.
      () => false,
    );
    this.#made.set(record.key, { ...record, stored });
    this.#dropBeyondShare(principalId);
    return { code, expiresAt, stored };
  }

  /** Many codes of one token replace that token's own, never those of another. */
  #dropBeyondShare(principalId: string): void {
    const now = this.#dependencies.clock.now();
    const own: string[] = [];
    for (const [key, code] of this.#made) {
      if (code.expiresAt <= now) this.#made.delete(key);
      else if (code.principalId === principalId) own.push(key);
    }
    const oldest = own.slice(0, -limits.signInCodes.max);
    for (const key of oldest) this.#made.delete(key);
    this.#dependencies.storage.remove(oldest).catch(() => {});
  }

  /** Uses up the code; returns the principal that created it, if its token is valid here. */
  async take(text: string): Promise<string | undefined> {
    const { clock, storage, credentialOf } = this.#dependencies;
    const key = keyOf(text);
    const made = this.#made.get(key);
    const isHere = made !== undefined && !(await made.stored);
    // A stored code is used up in the storage only, so that it signs in once. It rejects while that is unavailable.
    const found = isHere ? made : await storage.take(key);
    if (!this.#made.delete(key) && isHere) return undefined;
    if (found === undefined || found.expiresAt <= clock.now()) return undefined;
    return credentialOf(found.principalId) === found.credential ? found.principalId : undefined;
  }
}

/** A typed code may have capitals or spaces, or lack its dashes. */
function keyOf(text: string): string {
  return hash("sha256", text.toLowerCase().replace(/[^a-z0-9]/g, ""));
}
