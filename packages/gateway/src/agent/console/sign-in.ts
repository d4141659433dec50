/** Who sits at the page: signing in and out, and telling the requests of a page from those of anybody else. */
import {
  consoleHeader,
  limits,
  Problem,
  type SessionEnding,
  SessionView,
  SignInCode,
  SignInRequest,
  scopes,
} from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import { hasScope, type Principal, Throttle, type Tokens } from "../../access/access.ts";
import { type Clock, isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import { authenticate, type IdentifyToken } from "../authentication.ts";
import type { Http } from "../http.ts";
import { cookieName, readCookie, writeCookie } from "./cookie.ts";
import { type SessionStorage, Sessions, sessionIdleMs, sessionMostMs } from "./sessions.ts";
import { SignInCodes } from "./sign-in-codes.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Which session a page's request belongs to; none for those with a token. */
    consoleSession: string | undefined;
  }
}

export interface SignInNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly tokens: Pick<Tokens, "current" | "credentialOf" | "onRevoked">;
  readonly sessionStorage: SessionStorage;
  readonly identify: IdentifyToken;
  /** Counts a request; throws where there were too many. */
  readonly spend: (principal: Principal) => void;
  readonly instanceId: string;
  /** What a page is told of its gateway. */
  readonly about: () => NonNullable<SessionView["gateway"]>;
}

const failures = { "4xx": Problem, "5xx": Problem };
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);
const hourMs = 3_600_000;
/** One failure is forgiven in so long. */
const forgiveMs = 6_000;

const endingWords: Readonly<Record<SessionEnding, string>> = {
  signed_out: "the session was signed out",
  token: "the session ended with its token, which was revoked, replaced or has expired",
  idle: `the session ended after ${sessionIdleMs / hourMs} hours without use`,
  age: `the session ended after ${sessionMostMs / hourMs / 24} days`,
  displaced: "the session made room for others that were used later",
  unknown: "this gateway does not know the session",
};

export class SignIn {
  readonly sessions: Sessions;
  readonly #needs: SignInNeeds;
  readonly #codes: SignInCodes;
  /** Wrong secrets by address; right ones are not counted [CON-3]. */
  readonly #failures: Throttle;
  readonly #cookie: string;

  constructor(needs: SignInNeeds) {
    this.#needs = needs;
    this.sessions = new Sessions({
      clock: needs.clock,
      storage: needs.sessionStorage,
      current: (id) => needs.tokens.current(id),
      credentialOf: (id) => needs.tokens.credentialOf(id),
      onRevoked: (listener) => needs.tokens.onRevoked(listener),
    });
    this.#codes = new SignInCodes(needs.clock);
    const rate = { burst: limits.signInFailures.max, everyMs: forgiveMs };
    this.#failures = new Throttle(needs.clock, rate, limits.signInSources.max);
    this.#cookie = cookieName(needs.instanceId);
  }

  /** A link that opens the console and signs in, once. */
  link(principalId: string): { readonly code: string; readonly url: string; readonly expiresAt: number } {
    const { code, expiresAt } = this.#codes.make(principalId);
    return { code, url: `${this.#needs.about().url}/#code=${code}`, expiresAt };
  }

  /** A token's principal, or that of the session which the request's cookie names. */
  principalOf(request: FastifyRequest): Principal {
    const cookie =
      request.headers.authorization === undefined ? readCookie(request, this.#cookie) : undefined;
    if (cookie === undefined) return authenticate(request, this.#needs.identify, this.#needs.events);
    const found = this.sessions.find(cookie);
    if (found === undefined)
      throw new TendonError(
        "unauthenticated",
        `${endingWords[this.sessions.whyEnded(cookie)]}; sign in again`,
      );
    if (!safeMethods.has(request.method)) this.#requireOwnPage(request);
    this.#needs.spend(found.principal);
    request.consoleSession = found.key;
    return found.principal;
  }

  routes(http: Http): void {
    http.get(
      "/session",
      {
        schema: {
          summary: "Who is signed in",
          description: "`principal` is null without a valid token or session; that is no error.",
          tags: ["session"],
          response: { 200: SessionView, ...failures },
        },
      },
      (request) => this.#view(request),
    );
    http.post(
      "/session",
      {
        schema: {
          summary: "Sign in a page with a token or a one-time code",
          tags: ["session"],
          body: SignInRequest,
          response: { 200: SessionView, ...failures },
        },
      },
      async (request, reply) => {
        this.#requireOwnPage(request);
        const principal = this.#recognise(request.body.secret, request.ip);
        // Whoever signs in again leaves the old session behind.
        const old = readCookie(request, this.#cookie);
        if (old !== undefined) await this.sessions.close(old);
        const value = await this.sessions.open(principal);
        reply.header("set-cookie", writeCookie(request, this.#cookie, value, sessionMostMs / 1000));
        return this.#viewOf(principal);
      },
    );
    http.delete(
      "/session",
      { schema: { summary: "Sign out", tags: ["session"], response: { 204: Type.Null(), ...failures } } },
      async (request, reply) => {
        this.#requireOwnPage(request);
        const cookie = readCookie(request, this.#cookie);
        if (cookie !== undefined) await this.sessions.close(cookie);
        reply.header("set-cookie", writeCookie(request, this.#cookie, "", 0));
        await reply.code(204).send(null);
      },
    );
    http.post(
      "/session/codes",
      {
        schema: {
          summary: "Make a one-time code that signs a page in with the same token",
          tags: ["session"],
          response: { 201: SignInCode, ...failures },
        },
      },
      (request, reply) => {
        const { expiresAt, ...link } = this.link(this.principalOf(request).id);
        reply.code(201);
        return { ...link, expiresAt: isoTime(expiresAt) };
      },
    );
  }

  #recognise(secret: string, address: string): Principal {
    const waitMs = this.#failures.waitMs(address);
    if (waitMs > 0)
      throw new TendonError("rate_limited", "too many wrong secrets from this address; wait a little", {
        retryAfterMs: waitMs,
      });
    const text = secret.trim();
    const byToken = this.#needs.identify(text, address);
    const byCode = byToken === undefined ? this.#codes.take(text) : undefined;
    const principal = byToken ?? (byCode === undefined ? undefined : this.#needs.tokens.current(byCode));
    if (principal !== undefined) return principal;
    this.#failures.count(address);
    this.#needs.events.signInFailed(address);
    throw new TendonError(
      "unauthenticated",
      "this is neither a token nor a code that still counts; `tendon console` makes a new link",
    );
  }

  #view(request: FastifyRequest): SessionView {
    const { authorization } = request.headers;
    if (authorization !== undefined) return this.#viewOf(this.principalOf(request));
    const cookie = readCookie(request, this.#cookie);
    const found = cookie === undefined ? undefined : this.sessions.find(cookie);
    if (found !== undefined) return this.#viewOf(found.principal);
    const ended = cookie === undefined ? {} : { ended: this.sessions.whyEnded(cookie) };
    return { principal: null, gateway: null, ...ended };
  }

  #viewOf(principal: Principal): SessionView {
    return {
      principal: {
        name: principal.name,
        scopes: scopes.filter((scope) => hasScope(principal, scope)),
        limited: principal.devices !== undefined,
      },
      gateway: this.#needs.about(),
    };
  }

  /** [CON-4] The page itself, not another one in the same browser: an equal Origin, port and all, and our header. */
  #requireOwnPage(request: FastifyRequest): void {
    const { origin, host } = request.headers;
    const own = [`${request.protocol}://${host ?? ""}`, originOf(this.#needs.about().url)];
    if (origin === undefined || !own.includes(origin)) {
      throw new TendonError("forbidden", "only the console's own page may do this; send an equal Origin");
    }
    if (request.headers[consoleHeader] === undefined) {
      throw new TendonError("forbidden", `the header \`${consoleHeader}\` is missing`);
    }
  }
}

function originOf(url: string): string | undefined {
  try {
    return new URL(url).origin;
  } catch {
    return undefined;
  }
}
