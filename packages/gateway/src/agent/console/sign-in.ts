/** Signing in to the console and out again, with a token or a one-time code. */
import { limits, Problem, SessionView, SignInCode, SignInRequest, scopes } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import { type Authentication, hasScope, type Principal, Throttle, type Tokens } from "../../access/access.ts";
import { type Clock, isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import type { Http, HttpAuthentication } from "../http/http.ts";
import { sessionMostMs, writeCookie } from "../http/http.ts";
import { SignInCodes } from "./sign-in-codes.ts";

export interface SignInNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly tokens: Pick<Tokens, "current">;
  readonly authentication: Authentication;
  readonly http: HttpAuthentication;
  readonly cookieName: string;
  /** What a page is told of its gateway. */
  readonly about: () => NonNullable<SessionView["gateway"]>;
}

const failures = { "4xx": Problem, "5xx": Problem };
/** One failure is forgiven in so long. */
const forgiveMs = 6_000;

export class SignIn {
  readonly #needs: SignInNeeds;
  readonly #codes: SignInCodes;
  /** Wrong secrets by address; right ones are not counted [CON-3]. */
  readonly #failures: Throttle;

  constructor(needs: SignInNeeds) {
    this.#needs = needs;
    this.#codes = new SignInCodes(needs.clock);
    const rate = { burst: limits.signInFailures.max, everyMs: forgiveMs };
    this.#failures = new Throttle(needs.clock, rate, limits.signInSources.max);
  }

  /** A link that opens the console and signs in, once. */
  link(principalId: string): { readonly code: string; readonly url: string; readonly expiresAt: number } {
    const { code, expiresAt } = this.#codes.make(principalId);
    return { code, url: `${this.#needs.about().url}/#code=${code}`, expiresAt };
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
        this.#needs.http.requireOwnPage(request);
        const principal = this.#recognise(request.body.secret, request.ip);
        // Whoever signs in again leaves the old session behind.
        const old = this.#needs.http.cookieOf(request);
        if (old !== undefined) await this.#needs.http.sessions.close(old);
        const value = await this.#needs.http.sessions.open(principal);
        reply.header("set-cookie", writeCookie(request, this.#needs.cookieName, value, sessionMostMs / 1000));
        return this.#viewOf(principal);
      },
    );
    http.delete(
      "/session",
      { schema: { summary: "Sign out", tags: ["session"], response: { 204: Type.Null(), ...failures } } },
      async (request, reply) => {
        this.#needs.http.requireOwnPage(request);
        const cookie = this.#needs.http.cookieOf(request);
        if (cookie !== undefined) await this.#needs.http.sessions.close(cookie);
        reply.header("set-cookie", writeCookie(request, this.#needs.cookieName, "", 0));
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
        const { expiresAt, ...link } = this.link(this.#needs.http.byTokenOrSession(request).id);
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
    const byToken = this.#needs.authentication.identify(text, address);
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
    if (authorization !== undefined) return this.#viewOf(this.#needs.http.byTokenOrSession(request));
    const cookie = this.#needs.http.cookieOf(request);
    const found = cookie === undefined ? undefined : this.#needs.http.sessions.find(cookie);
    if (found !== undefined) return this.#viewOf(found.principal);
    const ended = cookie === undefined ? {} : { ended: this.#needs.http.sessions.whyEnded(cookie) };
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
}
