/**
 * Console sessions [CON-1…4]. A session ends with the token it was opened with, by signing out, after 12 hours without
 * use, and after a week. It survives restarts: the storage has a row for each, by the hash of its cookie. Requests are
 * checked in memory. The storage is read at the start and once a minute, for changes of other nodes.
 */
import { hash, randomBytes } from "node:crypto";
import { limits, type SessionEnding } from "@tendon/protocol";
import { hasScope, type Principal } from "../../access/access.ts";
import type { Clock, Timer } from "../../clock.ts";

/** A session as the storage and other nodes know it. Its key is a hash, which does not sign anyone in. */
export interface SessionRecord {
  readonly key: string;
  readonly principalId: string;
  /** The token it was opened with: a principal's id may outlive its token. */
  readonly credential: string;
  readonly openedAt: number;
  readonly usedAt: number;
}

export interface SessionStorage {
  /** The least recently used first. */
  all(): Promise<SessionRecord[]>;
  add(session: SessionRecord): Promise<void>;
  used(key: string, at: number): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
}

export interface SessionsDependencies {
  readonly clock: Clock;
  readonly storage: SessionStorage;
  /** The principal of a token's id while the token is valid. */
  readonly current: (principalId: string) => Principal | undefined;
  readonly credentialOf: (principalId: string) => string | undefined;
  readonly onRevoked: (listener: (tokenId: string) => void) => () => void;
}

interface OpenSession extends SessionRecord {
  usedAt: number;
  /** The last use that is stored; `undefined` if the session could not be stored and is in memory only. */
  storedUse: number | undefined;
}

/** Sends sign-ins and endings to the other nodes, so that a session is valid on all of them. */
export interface SessionSharing {
  opened(session: SessionRecord): Promise<void>;
  ended(key: string, why: SessionEnding): void;
}

export const sessionIdleMs = 12 * 3_600_000;
export const sessionMaxAgeMs = 7 * 24 * 3_600_000;
const sweepMs = 60_000;

export class Sessions {
  readonly #dependencies: SessionsDependencies;
  /** By the cookie's hash, in the order of last use. */
  readonly #open = new Map<string, OpenSession>();
  /** The reasons of the latest endings; bounded, the newest last. */
  readonly #endings = new Map<string, SessionEnding>();
  /** Sessions that ended while the storage was unavailable. Loading must not reopen them. */
  readonly #unremoved = new Set<string>();
  readonly #listeners = new Set<(key: string) => void>();
  readonly #sweeper: Timer;
  #sweeping: Promise<void> | undefined;
  #sharing: SessionSharing | undefined;

  constructor(dependencies: SessionsDependencies) {
    this.#dependencies = dependencies;
    this.#sweeper = dependencies.clock.every(sweepMs, () => {
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    });
    dependencies.onRevoked((tokenId) => {
      for (const [key, { principalId }] of this.#open)
        if (principalId === tokenId) void this.#end(key, "token");
    });
  }

  /** Loads the sessions of an earlier run, and what other nodes opened and ended. */
  async load(): Promise<void> {
    const missing = new Set(this.#open.keys());
    const stored = await this.#dependencies.storage.all();
    for (const { key } of stored) missing.delete(key);
    for (const key of missing)
      if (this.#open.get(key)?.storedUse !== undefined) this.applyEnded(key, "signed_out");
    for (const session of stored) this.applyOpened(session);
  }

  async stop(): Promise<void> {
    this.#sweeper.cancel();
    await this.#sweeping;
    await this.#flush();
  }

  shareWith(sharing: SessionSharing): void {
    this.#sharing = sharing;
  }

  /** Applies a session that an earlier run or another node opened. */
  applyOpened(session: SessionRecord): void {
    const { key, principalId, credential, openedAt, usedAt } = session;
    const known = this.#open.get(key);
    if (known !== undefined) {
      known.usedAt = Math.max(known.usedAt, usedAt);
      return;
    }
    const why =
      this.#dependencies.credentialOf(principalId) === credential ? this.#endingOf(session) : "token";
    const ended = this.#endings.get(key);
    if (why !== undefined) {
      this.#recordEnding(key, why);
      // The token may be valid on another node: each node has its own admin token.
      if (why !== "token") void this.#remove([key]);
    } else if (ended === undefined || ended === "token") {
      this.#endings.delete(key);
      this.#keep({ key, principalId, credential, openedAt, usedAt, storedUse: usedAt });
    }
  }

  /** Applies the ending of a session on another node. */
  applyEnded(key: string, why: SessionEnding): void {
    this.#recordEnding(key, why);
    this.#drop(key);
  }

  /** Calls the listener with the key of each session that ends, so that it can close the session's connections. */
  onEnded(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns the cookie's value, which the gateway does not keep. */
  async open(principal: Principal): Promise<string> {
    const now = this.#dependencies.clock.now();
    const cookie = randomBytes(32).toString("base64url");
    const credential = this.#dependencies.credentialOf(principal.id) ?? "";
    const session = { key: keyOf(cookie), principalId: principal.id, credential, openedAt: now, usedAt: now };
    // If the storage is unavailable, the session lasts until the gateway stops.
    const stored = await succeeds(this.#dependencies.storage.add(session));
    this.#keep({ ...session, storedUse: stored ? now : undefined });
    await this.#sharing?.opened(session);
    return cookie;
  }

  #keep(session: OpenSession): void {
    this.#open.set(session.key, session);
    const displaced = this.#beyondShare(session.principalId) ?? this.#beyondAll();
    if (displaced !== undefined) void this.#end(displaced, "displaced");
  }

  /** The longest idle session of a principal that has more than its share. Administrators may use all. */
  #beyondShare(principalId: string): string | undefined {
    if (this.#isAdmin(principalId)) return undefined;
    const own = [...this.#open.values()].filter((session) => session.principalId === principalId);
    return own.length > limits.consoleSessionsPerToken.max ? own[0]?.key : undefined;
  }

  /** The longest idle session if there are too many; one of an administrator only if there are no others. */
  #beyondAll(): string | undefined {
    if (this.#open.size <= limits.consoleSessions.max) return undefined;
    const sessions = [...this.#open.values()];
    const least = sessions.find(({ principalId }) => !this.#isAdmin(principalId)) ?? sessions[0];
    return least?.key;
  }

  #isAdmin(principalId: string): boolean {
    const principal = this.#dependencies.current(principalId);
    return principal !== undefined && hasScope(principal, "admin");
  }

  find(cookie: string): { readonly key: string; readonly principal: Principal } | undefined {
    const key = keyOf(cookie);
    const session = this.#open.get(key);
    if (session === undefined) return undefined;
    const why = this.#endingOf(session);
    const principal = this.#dependencies.current(session.principalId);
    if (why !== undefined || principal === undefined) {
      void this.#end(key, why ?? "token");
      return undefined;
    }
    session.usedAt = this.#dependencies.clock.now();
    this.#open.delete(key);
    this.#open.set(key, session);
    return { key, principal };
  }

  whyEnded(cookie: string): SessionEnding {
    return this.#endings.get(keyOf(cookie)) ?? "unknown";
  }

  async close(cookie: string): Promise<void> {
    await this.#end(keyOf(cookie), "signed_out");
  }

  #endingOf({ principalId, openedAt, usedAt }: SessionRecord): SessionEnding | undefined {
    const now = this.#dependencies.clock.now();
    if (now - openedAt >= sessionMaxAgeMs) return "age";
    if (now - usedAt >= sessionIdleMs) return "idle";
    return this.#dependencies.current(principalId) === undefined ? "token" : undefined;
  }

  async #sweep(): Promise<void> {
    if (this.#open.size === 0 && this.#unremoved.size === 0 && this.#sharing === undefined) return;
    await this.#flush();
    await succeeds(this.load());
    for (const [key, session] of this.#open) {
      const why = this.#endingOf(session);
      if (why !== undefined) void this.#end(key, why);
    }
  }

  /** Writes last uses, and endings that could not be written before. */
  async #flush(): Promise<void> {
    await this.#remove([...this.#unremoved]);
    for (const session of this.#open.values()) {
      const { key, usedAt, storedUse } = session;
      if (storedUse === undefined || storedUse >= usedAt) continue;
      if (!(await succeeds(this.#dependencies.storage.used(key, usedAt)))) return;
      session.storedUse = usedAt;
    }
  }

  async #end(key: string, why: SessionEnding): Promise<void> {
    if (!this.#drop(key)) return;
    this.#recordEnding(key, why);
    this.#sharing?.ended(key, why);
    await this.#remove([key]);
  }

  #drop(key: string): boolean {
    if (!this.#open.delete(key)) return false;
    for (const listener of this.#listeners) listener(key);
    return true;
  }

  async #remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#unremoved.add(key);
    if (!(await succeeds(this.#dependencies.storage.remove(keys)))) return;
    for (const key of keys) this.#unremoved.delete(key);
  }

  #recordEnding(key: string, why: SessionEnding): void {
    if (this.#endings.has(key)) return;
    this.#endings.set(key, why);
    const [oldest] = this.#endings.keys();
    if (this.#endings.size > limits.consoleSessions.max && oldest !== undefined) this.#endings.delete(oldest);
  }
}

/** The store itself reports that it is unavailable. */
async function succeeds(work: Promise<void>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}

function keyOf(cookie: string): string {
  return hash("sha256", cookie);
}
