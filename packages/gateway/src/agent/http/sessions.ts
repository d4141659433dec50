/**
 * People signed in at a page [CON-1…4]. A session belongs to the token it was opened with and ends with it, by signing
 * out, after a while without use, and after a week. It survives restarts: the storage has a row for each, by the hash of
 * its cookie. Memory answers requests; the storage is read at the start and once a minute, for what other nodes did.
 */
import { hash, randomBytes } from "node:crypto";
import { limits, type SessionEnding } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";
import type { Clock, Timer } from "../../clock.ts";

/** A session as the storage and other nodes know it: by its key, which opens nothing. */
export interface SessionRecord {
  readonly key: string;
  readonly principalId: string;
  /** Which token it was opened with: a principal's id may outlive its token. */
  readonly credential: string;
  readonly openedAt: number;
  readonly usedAt: number;
}

export interface SessionStorage {
  /** The one idle longest first. */
  all(): Promise<SessionRecord[]>;
  add(session: SessionRecord): Promise<void>;
  used(key: string, at: number): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
}

export interface SessionsNeeds {
  readonly clock: Clock;
  readonly storage: SessionStorage;
  /** The principal of a token's id while the token counts. */
  readonly current: (principalId: string) => Principal | undefined;
  readonly credentialOf: (principalId: string) => string | undefined;
  readonly onRevoked: (listener: (tokenId: string) => void) => () => void;
}

interface Held extends SessionRecord {
  usedAt: number;
  /** The last use that the storage knows of; `undefined` where it could not be written, and lives in memory alone. */
  storedUse: number | undefined;
}

/** Who signs in at one node is signed in at all of them. */
export interface SessionSharing {
  opened(session: SessionRecord): Promise<void>;
  ended(key: string, why: SessionEnding): void;
}

export const sessionIdleMs = 12 * 3_600_000;
export const sessionMostMs = 7 * 24 * 3_600_000;
const sweepMs = 60_000;

export class Sessions {
  readonly #needs: SessionsNeeds;
  /** By the cookie's hash; in the order of their last use. */
  readonly #held = new Map<string, Held>();
  /** Why those that ended last did; bounded, the newest last. */
  readonly #endings = new Map<string, SessionEnding>();
  /** Ended while the storage was away: it must not bring them back. */
  readonly #unremoved = new Set<string>();
  readonly #listeners = new Set<(key: string) => void>();
  readonly #sweeper: Timer;
  #sweeping: Promise<void> | undefined;
  #sharing: SessionSharing | undefined;

  constructor(needs: SessionsNeeds) {
    this.#needs = needs;
    this.#sweeper = needs.clock.every(sweepMs, () => {
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    });
    needs.onRevoked((tokenId) => {
      for (const [key, { principalId }] of this.#held)
        if (principalId === tokenId) void this.#end(key, "token");
    });
  }

  /** Takes over what the storage has: sessions of an earlier run, and what other nodes opened and ended. */
  async load(): Promise<void> {
    const missing = new Set(this.#held.keys());
    const stored = await this.#needs.storage.all();
    for (const { key } of stored) missing.delete(key);
    for (const key of missing)
      if (this.#held.get(key)?.storedUse !== undefined) this.forget(key, "signed_out");
    for (const session of stored) this.learn(session);
  }

  async stop(): Promise<void> {
    this.#sweeper.cancel();
    await this.#sweeping;
    await this.#writeDown();
  }

  shareWith(sharing: SessionSharing): void {
    this.#sharing = sharing;
  }

  /** Opened by another run of the gateway, or at another node. */
  learn(session: SessionRecord): void {
    const { key, principalId, credential, openedAt, usedAt } = session;
    const known = this.#held.get(key);
    if (known !== undefined) {
      known.usedAt = Math.max(known.usedAt, usedAt);
      return;
    }
    const why = this.#needs.credentialOf(principalId) === credential ? this.#whyOver(session) : "token";
    const ended = this.#endings.get(key);
    if (why !== undefined) {
      this.#noteEnding(key, why);
      // A token that does not count here may count at another node: the administrator's is each node's own.
      if (why !== "token") void this.#remove([key]);
    } else if (ended === undefined || ended === "token") {
      this.#endings.delete(key);
      this.#hold({ key, principalId, credential, openedAt, usedAt, storedUse: usedAt });
    }
  }

  /** Ended at another node. */
  forget(key: string, why: SessionEnding): void {
    this.#noteEnding(key, why);
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
    const credential = this.#needs.credentialOf(principal.id) ?? "";
    const session = { key: keyOf(cookie), principalId: principal.id, credential, openedAt: now, usedAt: now };
    // Without the storage people can still sign in, until the gateway stops.
    const stored = await succeeds(this.#needs.storage.add(session));
    this.#hold({ ...session, storedUse: stored ? now : undefined });
    await this.#sharing?.opened(session);
    return cookie;
  }

  #hold(session: Held): void {
    this.#held.set(session.key, session);
    if (this.#held.size > limits.consoleSessions.max) {
      const [longestIdle] = this.#held.keys();
      if (longestIdle !== undefined) void this.#end(longestIdle, "displaced");
    }
  }

  find(cookie: string): { readonly key: string; readonly principal: Principal } | undefined {
    const key = keyOf(cookie);
    const held = this.#held.get(key);
    if (held === undefined) return undefined;
    const why = this.#whyOver(held);
    const principal = this.#needs.current(held.principalId);
    if (why !== undefined || principal === undefined) {
      void this.#end(key, why ?? "token");
      return undefined;
    }
    held.usedAt = this.#needs.clock.now();
    this.#held.delete(key);
    this.#held.set(key, held);
    return { key, principal };
  }

  whyEnded(cookie: string): SessionEnding {
    return this.#endings.get(keyOf(cookie)) ?? "unknown";
  }

  async close(cookie: string): Promise<void> {
    await this.#end(keyOf(cookie), "signed_out");
  }

  #whyOver({ principalId, openedAt, usedAt }: SessionRecord): SessionEnding | undefined {
    const now = this.#needs.clock.now();
    if (now - openedAt >= sessionMostMs) return "age";
    if (now - usedAt >= sessionIdleMs) return "idle";
    return this.#needs.current(principalId) === undefined ? "token" : undefined;
  }

  async #sweep(): Promise<void> {
    if (this.#held.size === 0 && this.#unremoved.size === 0 && this.#sharing === undefined) return;
    await this.#writeDown();
    await succeeds(this.load());
    for (const [key, held] of this.#held) {
      const why = this.#whyOver(held);
      if (why !== undefined) void this.#end(key, why);
    }
  }

  /** What the storage does not know yet: last uses, and endings that it could not take. */
  async #writeDown(): Promise<void> {
    await this.#remove([...this.#unremoved]);
    for (const held of this.#held.values()) {
      const { key, usedAt, storedUse } = held;
      if (storedUse === undefined || storedUse >= usedAt) continue;
      if (!(await succeeds(this.#needs.storage.used(key, usedAt)))) return;
      held.storedUse = usedAt;
    }
  }

  async #end(key: string, why: SessionEnding): Promise<void> {
    if (!this.#drop(key)) return;
    this.#noteEnding(key, why);
    this.#sharing?.ended(key, why);
    await this.#remove([key]);
  }

  #drop(key: string): boolean {
    if (!this.#held.delete(key)) return false;
    for (const listener of this.#listeners) listener(key);
    return true;
  }

  async #remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#unremoved.add(key);
    if (!(await succeeds(this.#needs.storage.remove(keys)))) return;
    for (const key of keys) this.#unremoved.delete(key);
  }

  #noteEnding(key: string, why: SessionEnding): void {
    if (this.#endings.has(key)) return;
    this.#endings.set(key, why);
    const [oldest] = this.#endings.keys();
    if (this.#endings.size > limits.consoleSessions.max && oldest !== undefined) this.#endings.delete(oldest);
  }
}

/** A storage that is away is reported elsewhere. */
async function succeeds(work: Promise<void>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}

function keyOf(cookie: string): string {
  return hash("sha256", cookie);
}
