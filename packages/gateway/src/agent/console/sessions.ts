/**
 * People signed in at a page [CON-1…4]. A session hangs on the token it was opened with and ends with it, with its
 * owner's word, after a while without use, and with the gateway. Cookies are kept as hashes only, as tokens are.
 */
import { hash, randomBytes } from "node:crypto";
import { limits } from "@tendon/protocol";
import type { Clock, Timer } from "../../clock.ts";
import type { Principal } from "../../registry/registry.ts";

export interface SessionsNeeds {
  readonly clock: Clock;
  /** The principal of a token's id while the token counts. */
  readonly current: (principalId: string) => Principal | undefined;
  readonly onRevoked: (listener: (tokenId: string) => void) => () => void;
}

interface Held {
  readonly principalId: string;
  readonly openedAt: number;
  usedAt: number;
}

/** A session as other nodes are told of it: by its key, which opens nothing. */
export interface SharedSession {
  readonly key: string;
  readonly principalId: string;
  readonly openedAt: number;
}

/** Who signs in at one node is signed in at all of them. */
export interface SessionSharing {
  opened(session: SharedSession): Promise<void>;
  ended(key: string): void;
}

const sessionIdleMs = 12 * 3_600_000;
export const sessionMostMs = 7 * 24 * 3_600_000;
const sweepMs = 60_000;

export class Sessions {
  readonly #needs: SessionsNeeds;
  /** By the cookie's hash; in the order of their last use. */
  readonly #held = new Map<string, Held>();
  readonly #listeners = new Set<(key: string) => void>();
  readonly #sweeper: Timer;
  #sharing: SessionSharing | undefined;

  constructor(needs: SessionsNeeds) {
    this.#needs = needs;
    this.#sweeper = needs.clock.every(sweepMs, () => this.#sweep());
    needs.onRevoked((tokenId) => {
      for (const [key, { principalId }] of this.#held) if (principalId === tokenId) this.#end(key);
    });
  }

  stop(): void {
    this.#sweeper.cancel();
  }

  shareWith(sharing: SessionSharing): void {
    this.#sharing = sharing;
  }

  /** Those there are, for a node that comes later. */
  all(): SharedSession[] {
    return [...this.#held].map(([key, { principalId, openedAt }]) => ({ key, principalId, openedAt }));
  }

  /** Opened at another node. */
  learn({ key, principalId, openedAt }: SharedSession): void {
    if (!this.#held.has(key)) this.#hold(key, { principalId, openedAt, usedAt: this.#needs.clock.now() });
  }

  /** Ended at another node. */
  forget(key: string): void {
    this.#drop(key);
  }

  /** Told the key of each session that ends, so that what it has open can be closed. */
  onEnded(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Gives the cookie's value, which is kept nowhere. */
  async open(principal: Principal): Promise<string> {
    const now = this.#needs.clock.now();
    const cookie = randomBytes(32).toString("base64url");
    const session = { key: keyOf(cookie), principalId: principal.id, openedAt: now };
    this.#hold(session.key, { principalId: principal.id, openedAt: now, usedAt: now });
    await this.#sharing?.opened(session);
    return cookie;
  }

  #hold(key: string, held: Held): void {
    this.#held.set(key, held);
    if (this.#held.size > limits.consoleSessions.max) {
      const [longestIdle] = this.#held.keys();
      if (longestIdle !== undefined) this.#end(longestIdle);
    }
  }

  find(cookie: string): { readonly key: string; readonly principal: Principal } | undefined {
    const key = keyOf(cookie);
    const held = this.#held.get(key);
    if (held === undefined) return undefined;
    const principal = this.#principalOf(held);
    if (principal === undefined) {
      this.#end(key);
      return undefined;
    }
    held.usedAt = this.#needs.clock.now();
    this.#held.delete(key);
    this.#held.set(key, held);
    return { key, principal };
  }

  close(cookie: string): void {
    this.#end(keyOf(cookie));
  }

  #principalOf({ principalId, openedAt, usedAt }: Held): Principal | undefined {
    const now = this.#needs.clock.now();
    if (now - usedAt >= sessionIdleMs || now - openedAt >= sessionMostMs) return undefined;
    return this.#needs.current(principalId);
  }

  #sweep(): void {
    for (const [key, held] of this.#held) if (this.#principalOf(held) === undefined) this.#end(key);
  }

  #end(key: string): void {
    if (this.#drop(key)) this.#sharing?.ended(key);
  }

  #drop(key: string): boolean {
    if (!this.#held.delete(key)) return false;
    for (const listener of this.#listeners) listener(key);
    return true;
  }
}

function keyOf(cookie: string): string {
  return hash("sha256", cookie);
}
