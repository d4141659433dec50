/**
 * Who may come in from the north [TOK-1…4]. A token is shown once and kept as a hash; what it may do and see stands
 * beside it. The admin token is not among them: it belongs to whoever owns the data folder.
 */
import { hash, randomBytes } from "node:crypto";
import { isAlias, normaliseDeviceId, type TokenRequest, type TokenView } from "@tendon/protocol";
import { newCallId } from "../call-ids.ts";
import { type Clock, isoTime, type Timer } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Store, StoredToken } from "../store/store.ts";
import { type Principal, requireScope, type Scope } from "./principal.ts";

export interface TokensNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly adminToken: string;
  readonly devices: {
    /** The id somebody means; a name that is nobody's stays what it is. */
    idOf(reference: string): string;
    visible(principal: Principal, id: string): boolean;
  };
}

interface Held {
  readonly stored: StoredToken;
  readonly principal: Principal;
}

const prefix = "tdn_";
const lookForExpiredEveryMs = 1_000;

export class Tokens {
  readonly #needs: TokensNeeds;
  readonly #admin: Principal = {
    id: "admin",
    name: "admin",
    scopes: new Set<Scope>(["admin"]),
    devices: undefined,
  };
  readonly #adminHash: string;
  readonly #byHash = new Map<string, Held>();
  readonly #byId = new Map<string, Held>();
  /** Also of those that no longer count: what they did keeps its name. */
  readonly #names = new Map<string, string>();
  readonly #listeners = new Set<(tokenId: string) => void>();
  /** Of open connections, the token that came last and its hash: most send the same one again and again. */
  readonly #lastSeen = new WeakMap<object, { readonly token: string; readonly digest: string }>();
  /** Those that will stop counting by themselves, and when. */
  readonly #expiring = new Map<string, number>();
  readonly #timer: Timer;
  #tellOthers: (tokenId: string) => Promise<void> = async () => {};

  private constructor(needs: TokensNeeds) {
    this.#needs = needs;
    this.#adminHash = hash("sha256", needs.adminToken);
    this.#timer = needs.clock.every(lookForExpiredEveryMs, () => this.#endExpired());
  }

  static async open(needs: TokensNeeds): Promise<Tokens> {
    const tokens = new Tokens(needs);
    for (const stored of await needs.store.tokens.all()) tokens.#hold(stored);
    return tokens;
  }

  stop(): void {
    this.#timer.cancel();
  }

  /** Told when a token stops counting, so that what it has open can be closed. */
  onRevoked(listener: (tokenId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Other nodes are told before whoever made or revoked a token is. */
  shareWith(tell: (tokenId: string) => Promise<void>): void {
    this.#tellOthers = tell;
  }

  /** Another node has made or revoked this token. */
  async readAgain(id: string): Promise<void> {
    const stored = await this.#needs.store.tokens.get(id);
    if (stored === undefined || stored.revokedAt !== undefined) this.#drop(id);
    else this.#hold(stored);
  }

  nameOf(principalId: string): string {
    return this.#names.get(principalId) ?? principalId;
  }

  /** Whose token this is. Only its hash is looked up, so that timing tells nothing about the tokens there are. */
  identify(token: string, connection?: object): Principal | undefined {
    const digest = this.#digestOf(token, connection);
    if (digest === this.#adminHash) return this.#admin;
    const held = this.#byHash.get(digest);
    if (held === undefined) return undefined;
    const now = this.#needs.clock.now();
    const { id, expiresAt } = held.stored;
    if (expiresAt !== undefined && expiresAt <= now) return undefined;
    this.#needs.store.presence.tokenUsed(id, now);
    return held.principal;
  }

  /** The principal of a token's id while the token counts: what was opened with it lives by this. */
  current(principalId: string): Principal | undefined {
    if (principalId === this.#admin.id) return this.#admin;
    const held = this.#byId.get(principalId);
    const expiresAt = held?.stored.expiresAt;
    return expiresAt !== undefined && expiresAt <= this.#needs.clock.now() ? undefined : held?.principal;
  }

  /** Names the token behind a principal, also over restarts, and opens nothing: what is kept with it ends with that token. */
  credentialOf(principalId: string): string | undefined {
    const digest =
      principalId === this.#admin.id ? this.#adminHash : this.#byId.get(principalId)?.stored.hash;
    return digest === undefined ? undefined : hash("sha256", `credential ${digest}`);
  }

  async create(principal: Principal, request: TokenRequest): Promise<TokenView & { readonly token: string }> {
    requireScope(principal, "admin");
    const now = this.#needs.clock.now();
    const expiresAt = request.expiresAt === undefined ? undefined : Date.parse(request.expiresAt);
    if (expiresAt !== undefined && !(expiresAt > now)) {
      throw new TendonError("bad_request", "/expiresAt must be a time that is still to come");
    }
    const token = `${prefix}${randomBytes(24).toString("base64url")}`;
    const stored: StoredToken = {
      id: newCallId(),
      name: request.name,
      hash: hash("sha256", token),
      scopes: [...new Set(request.scopes)],
      devices:
        request.devices === undefined
          ? undefined
          : { ids: this.#idsOf(principal, request.devices.ids ?? []), tags: request.devices.tags ?? [] },
      createdAt: now,
      expiresAt,
      lastUsedAt: undefined,
      revokedAt: undefined,
    };
    await this.#needs.store.tokens.create(stored);
    this.#hold(stored);
    await this.#tellOthers(stored.id);
    return { ...viewOf(stored), token };
  }

  async list(principal: Principal): Promise<TokenView[]> {
    requireScope(principal, "admin");
    const stored = await this.#needs.store.tokens.all();
    return stored.filter(({ revokedAt }) => revokedAt === undefined).map(viewOf);
  }

  async revoke(principal: Principal, id: string): Promise<void> {
    requireScope(principal, "admin");
    if (!(await this.#needs.store.tokens.revoke(id, this.#needs.clock.now()))) {
      throw new TendonError("not_found", "no token has this id");
    }
    this.#drop(id);
    await this.#tellOthers(id);
  }

  /** Ids, also where aliases were given: those may change. A board may be expected that has not come yet [TOK-3]. */
  #idsOf(principal: Principal, references: readonly string[]): string[] {
    const { devices } = this.#needs;
    const ids = references.map((reference, index) => {
      const id = devices.idOf(reference);
      if (devices.visible(principal, id)) return id;
      const expected = normaliseDeviceId(reference);
      if (expected !== undefined && !isAlias(expected)) return expected;
      const detail = `/devices/ids/${index} no device has the id or alias \`${reference}\``;
      throw new TendonError("bad_request", detail);
    });
    return [...new Set(ids)];
  }

  #digestOf(token: string, connection: object | undefined): string {
    if (connection === undefined) return hash("sha256", token);
    const last = this.#lastSeen.get(connection);
    if (last?.token === token) return last.digest;
    const digest = hash("sha256", token);
    this.#lastSeen.set(connection, { token, digest });
    return digest;
  }

  #drop(id: string): void {
    const held = this.#byId.get(id);
    this.#byId.delete(id);
    this.#expiring.delete(id);
    if (held !== undefined) this.#byHash.delete(held.stored.hash);
    for (const listener of this.#listeners) listener(id);
  }

  /** [TOK-4] Requests find out by themselves; what was opened while the token counted does not. */
  #endExpired(): void {
    const now = this.#needs.clock.now();
    for (const [id, expiresAt] of this.#expiring) if (expiresAt <= now) this.#drop(id);
  }

  #hold(stored: StoredToken): void {
    this.#names.set(stored.id, stored.name);
    if (stored.revokedAt !== undefined) return;
    const { id, name, scopes, devices } = stored;
    const principal: Principal = {
      id,
      name,
      // Safe: only `create` writes scopes, from a list of known ones.
      scopes: new Set(scopes as readonly Scope[]),
      devices: devices === undefined ? undefined : { ids: new Set(devices.ids), tags: new Set(devices.tags) },
    };
    const held = { stored, principal };
    if (stored.expiresAt !== undefined) this.#expiring.set(id, stored.expiresAt);
    this.#byHash.set(stored.hash, held);
    this.#byId.set(id, held);
  }
}

function viewOf({ id, name, scopes, devices, createdAt, expiresAt, lastUsedAt }: StoredToken): TokenView {
  return {
    id,
    name,
    scopes: [...scopes],
    ...(devices === undefined ? {} : { devices: { ids: [...devices.ids], tags: [...devices.tags] } }),
    createdAt: isoTime(createdAt),
    expiresAt: expiresAt === undefined ? null : isoTime(expiresAt),
    lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
  };
}
