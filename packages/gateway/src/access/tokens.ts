/**
 * Tokens of agents, apps and programs [TOK-1…4]. A token is shown once and stored as a hash, with its scopes and devices.
 * The admin token is not stored here: it comes from the data folder or the environment.
 */
import { hash, randomBytes } from "node:crypto";
import { isAlias, normaliseDeviceId, type TokenRequest, type TokenView } from "@tendon/protocol";
import { plainAddress } from "../addresses.ts";
import { newCallId } from "../call-ids.ts";
import { type Clock, isoTime, type Timer } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Store, StoredToken } from "../store/store.ts";
import { type Principal, requireEveryDevice, requireScope, type Scope } from "./principal.ts";

export interface TokensDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly adminToken: string;
  readonly devices: {
    /** The id of the device with this id or alias; an unknown reference is returned unchanged. */
    idOf(reference: string): string;
    visible(principal: Principal, id: string): boolean;
  };
}

interface LoadedToken {
  readonly stored: StoredToken;
  readonly principal: Principal;
}

const prefix = "tdn_";
const expiryCheckMs = 1_000;

export class Tokens {
  readonly #dependencies: TokensDependencies;
  readonly #admin: Principal = {
    id: "admin",
    name: "admin",
    scopes: new Set<Scope>(["admin"]),
    devices: undefined,
  };
  readonly #adminHash: string;
  readonly #byHash = new Map<string, LoadedToken>();
  readonly #byId = new Map<string, LoadedToken>();
  /** Names by id, also of revoked and expired tokens, for the history. */
  readonly #names = new Map<string, string>();
  readonly #listeners = new Set<(tokenId: string) => void>();
  readonly #changeListeners = new Set<() => void>();
  /** The last token of each open connection with its hash: most connections repeat the same token. */
  readonly #lastSeen = new WeakMap<object, { readonly token: string; readonly digest: string }>();
  /** When each token with an expiry expires. */
  readonly #expiring = new Map<string, number>();
  readonly #timer: Timer;
  #notifyOthers: (tokenId: string) => Promise<void> = async () => {};

  private constructor(dependencies: TokensDependencies) {
    this.#dependencies = dependencies;
    this.#adminHash = hash("sha256", dependencies.adminToken);
    this.#timer = dependencies.clock.every(expiryCheckMs, () => this.#endExpired());
  }

  static async open(dependencies: TokensDependencies): Promise<Tokens> {
    const tokens = new Tokens(dependencies);
    for (const stored of await dependencies.store.tokens.all()) tokens.#load(stored);
    return tokens;
  }

  stop(): void {
    this.#timer.cancel();
  }

  /** Calls the listener when a token is revoked or expires, so that its connections can be closed. */
  onRevoked(listener: (tokenId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener after a token was created, revoked or expired, here or on another node. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** The valid tokens with this name. Several have it only in data of an earlier version. */
  namesakes(name: string): Principal[] {
    const now = this.#dependencies.clock.now();
    return [...this.#byId.values()]
      .filter((token) => token.stored.name === name && isLive(token, now))
      .map(principalOf);
  }

  /** Names that several valid tokens have. */
  duplicateNames(): string[] {
    const now = this.#dependencies.clock.now();
    const names = [...this.#byId.values()]
      .filter((token) => isLive(token, now))
      .map(({ stored }) => stored.name);
    return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
  }

  /** Sets the function that notifies the other nodes. Creating or revoking a token waits for it. */
  shareWith(notify: (tokenId: string) => Promise<void>): void {
    this.#notifyOthers = notify;
  }

  /** Reloads a token that another node has created or revoked. */
  async reload(id: string): Promise<void> {
    const stored = await this.#dependencies.store.tokens.get(id);
    if (stored === undefined || stored.revokedAt !== undefined) this.#drop(id);
    else this.#load(stored);
  }

  nameOf(principalId: string): string {
    return this.#names.get(principalId) ?? principalId;
  }

  /** The principal of this token. Only the token's hash is looked up, so that timing reveals nothing about other tokens. */
  identify(token: string, from?: string, connection?: object): Principal | undefined {
    const digest = this.#digestOf(token, connection);
    if (digest === this.#adminHash) return this.#admin;
    const loaded = this.#byHash.get(digest);
    if (loaded === undefined) return undefined;
    const now = this.#dependencies.clock.now();
    const { id, expiresAt } = loaded.stored;
    if (expiresAt !== undefined && expiresAt <= now) return undefined;
    this.#dependencies.store.presence.tokenUsed(id, now, from);
    return loaded.principal;
  }

  /** Records a use of a token without the token itself: by a session that was opened with it. */
  used(principalId: string, from: string): void {
    if (!this.#byId.has(principalId)) return;
    this.#dependencies.store.presence.tokenUsed(principalId, this.#dependencies.clock.now(), from);
  }

  /** The principal of a token's id while the token is valid. Open connections check it. */
  current(principalId: string): Principal | undefined {
    if (principalId === this.#admin.id) return this.#admin;
    const loaded = this.#byId.get(principalId);
    const expiresAt = loaded?.stored.expiresAt;
    return expiresAt !== undefined && expiresAt <= this.#dependencies.clock.now()
      ? undefined
      : loaded?.principal;
  }

  /** Identifies the token behind a principal, across restarts, without revealing it. A session that stores it ends with that token. */
  credentialOf(principalId: string): string | undefined {
    const digest =
      principalId === this.#admin.id ? this.#adminHash : this.#byId.get(principalId)?.stored.hash;
    return digest === undefined ? undefined : hash("sha256", `credential ${digest}`);
  }

  /** `from` is the address of the request, for the list of tokens. */
  async create(
    principal: Principal,
    request: TokenRequest,
    from: string,
  ): Promise<TokenView & { readonly token: string }> {
    requireTokenAdmin(principal);
    refuseReservedName(request.name);
    const now = this.#dependencies.clock.now();
    const expiresAt = request.expiresAt === undefined ? undefined : Date.parse(request.expiresAt);
    if (expiresAt !== undefined && !(expiresAt > now)) {
      throw new TendonError("bad_request", "/expiresAt must be in the future");
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
      createdBy: principal.name,
      createdFrom: from,
      expiresAt,
      lastUsedAt: undefined,
      lastUsedFrom: undefined,
      revokedAt: undefined,
    };
    if (!(await this.#dependencies.store.tokens.create(stored))) {
      const detail = `a token named \`${request.name}\` exists already; choose another name, or revoke that token first`;
      throw new TendonError("conflict", detail);
    }
    this.#load(stored);
    await this.#notifyOthers(stored.id);
    return { ...viewOf(stored), token };
  }

  async list(principal: Principal): Promise<TokenView[]> {
    requireTokenAdmin(principal);
    const stored = await this.#dependencies.store.tokens.all();
    return stored.filter(({ revokedAt }) => revokedAt === undefined).map(viewOf);
  }

  async revoke(principal: Principal, id: string): Promise<void> {
    requireTokenAdmin(principal);
    if (!(await this.#dependencies.store.tokens.revoke(id, this.#dependencies.clock.now()))) {
      throw new TendonError("not_found", "no token has this id");
    }
    this.#drop(id);
    await this.#notifyOthers(id);
  }

  /** Turns aliases into ids, because an alias may change. The id of a device that has never connected is accepted too [TOK-3]. */
  #idsOf(principal: Principal, references: readonly string[]): string[] {
    const { devices } = this.#dependencies;
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
    const loaded = this.#byId.get(id);
    this.#byId.delete(id);
    this.#expiring.delete(id);
    if (loaded !== undefined) this.#byHash.delete(loaded.stored.hash);
    for (const listener of this.#listeners) listener(id);
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#changeListeners) listener();
  }

  /** [TOK-4] Every request checks the expiry of its token, but open connections do not. */
  #endExpired(): void {
    const now = this.#dependencies.clock.now();
    for (const [id, expiresAt] of this.#expiring) if (expiresAt <= now) this.#drop(id);
  }

  #load(stored: StoredToken): void {
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
    const loaded = { stored, principal };
    if (stored.expiresAt !== undefined) this.#expiring.set(id, stored.expiresAt);
    this.#byHash.set(stored.hash, loaded);
    this.#byId.set(id, loaded);
    this.#changed();
  }
}

function isLive({ stored: { expiresAt } }: LoadedToken, now: number): boolean {
  return expiresAt === undefined || expiresAt > now;
}

function principalOf({ principal }: LoadedToken): Principal {
  return principal;
}

/** Names that the gateway uses itself. A token with one of them would look like the administrator in history and audit. */
const reservedNames = ["admin", "gateway", "voice-server"];

/** A token that is limited to some devices must not make one that is not. */
function requireTokenAdmin(principal: Principal): void {
  requireScope(principal, "admin");
  requireEveryDevice(principal, "the administration of tokens");
}

function refuseReservedName(name: string): void {
  const plain = name.trim().toLowerCase();
  if (plain === "") throw new TendonError("bad_request", "/name must have a character that is not a space");
  if (reservedNames.includes(plain) || plain.startsWith("console:")) {
    const detail = `/name \`${name}\` is reserved: history and audit use it for the gateway itself. Choose another name`;
    throw new TendonError("bad_request", detail);
  }
}

function viewOf(token: StoredToken): TokenView {
  const { id, name, scopes, devices, expiresAt, lastUsedAt, lastUsedFrom } = token;
  return {
    id,
    name,
    scopes: [...scopes],
    ...(devices === undefined ? {} : { devices: { ids: [...devices.ids], tags: [...devices.tags] } }),
    createdAt: isoTime(token.createdAt),
    createdBy: token.createdBy ?? null,
    createdFrom: token.createdFrom ?? null,
    expiresAt: expiresAt === undefined ? null : isoTime(expiresAt),
    lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
    lastUsedFrom: lastUsedFrom === undefined ? null : plainAddress(lastUsedFrom),
  };
}
