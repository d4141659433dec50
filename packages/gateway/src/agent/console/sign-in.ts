/** Sign-in to the console with a token or a one-time code, and sign-out. */
import { limits, SessionView, SignInCode, SignInRequest, scopes } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import { type Authentication, hasScope, type Principal, Throttle, type Tokens } from "../../access/access.ts";
import { plainAddress } from "../../addresses.ts";
import type { Audit } from "../../audit/audit.ts";
import { type Clock, isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import { failures, type Http, type HttpAuthentication, sessionMaxAgeMs, writeCookie } from "../http/http.ts";
import { type SignInCodeStorage, SignInCodes } from "./sign-in-codes.ts";

export interface SignInDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly tokens: Pick<Tokens, "current" | "credentialOf">;
  readonly codeStorage: SignInCodeStorage;
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly http: HttpAuthentication;
  readonly cookieName: string;
  /** What the page shows about its gateway. */
  readonly about: () => NonNullable<SessionView["gateway"]>;
}

/** The time after which one failure is no longer counted. */
const failureDecayMs = 6_000;

export class SignIn {
  readonly #dependencies: SignInDependencies;
  readonly #codes: SignInCodes;
  /** Failed sign-ins by address; successful ones are not counted [CON-3]. */
  readonly #failures: Throttle;

  constructor(dependencies: SignInDependencies) {
    this.#dependencies = dependencies;
    const { clock, codeStorage: storage, tokens } = dependencies;
    this.#codes = new SignInCodes({ clock, storage, credentialOf: (id) => tokens.credentialOf(id) });
    const rate = { burst: limits.signInFailures.max, everyMs: failureDecayMs };
    this.#failures = new Throttle(dependencies.clock, rate, limits.signInSources.max);
  }

  /** A link that opens the console and signs in once. */
  link(principalId: string) {
    const made = this.#codes.make(principalId);
    return { ...made, url: `${this.#dependencies.about().url}/#code=${made.code}` };
  }

  routes(http: Http): void {
    http.get(
      "/session",
      {
        schema: {
          operationId: "getSession",
          summary: "The current session",
          description: "Without a valid token or session, `principal` is null and the status is 200.",
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
          operationId: "signIn",
          summary: "Sign in to the console with a token or a one-time code",
          tags: ["session"],
          body: SignInRequest,
          response: { 200: SessionView, ...failures },
        },
      },
      async (request, reply) => {
        this.#dependencies.http.requireOwnPage(request);
        const principal = await this.#authenticate(request.body.secret, request.ip);
        // A new sign-in ends the old session of this browser.
        const old = this.#dependencies.http.cookieOf(request);
        if (old !== undefined) await this.#dependencies.http.sessions.close(old);
        const value = await this.#dependencies.http.sessions.open(principal);
        await this.#record(principal, request.ip, "session.open");
        reply.header(
          "set-cookie",
          writeCookie(request, this.#dependencies.cookieName, value, sessionMaxAgeMs / 1000),
        );
        return this.#viewOf(principal);
      },
    );
    http.delete(
      "/session",
      {
        schema: {
          operationId: "signOut",
          summary: "Sign out",
          tags: ["session"],
          response: { 204: Type.Null(), ...failures },
        },
      },
      async (request, reply) => {
        this.#dependencies.http.requireOwnPage(request);
        const cookie = this.#dependencies.http.cookieOf(request);
        const open = cookie === undefined ? undefined : this.#dependencies.http.sessions.find(cookie);
        if (cookie !== undefined) await this.#dependencies.http.sessions.close(cookie);
        if (open !== undefined) await this.#record(open.principal, request.ip, "session.close");
        reply.header("set-cookie", writeCookie(request, this.#dependencies.cookieName, "", 0));
        await reply.code(204).send(null);
      },
    );
    http.post(
      "/session/codes",
      {
        schema: {
          operationId: "createSignInCode",
          summary: "Create a one-time code that signs in to the console with the same token",
          tags: ["session"],
          response: { 201: SignInCode, ...failures },
        },
      },
      async (request, reply) => {
        const principal = this.#dependencies.http.byTokenOrSession(request);
        const { expiresAt, stored, ...link } = this.link(principal.id);
        await stored;
        reply.code(201);
        return { ...link, expiresAt: isoTime(expiresAt) };
      },
    );
  }

  async #record(principal: Principal, from: string, action: "session.open" | "session.close"): Promise<void> {
    const target = { type: "session", id: principal.id, name: principal.name };
    await this.#dependencies.audit.record({ principal, from: plainAddress(from) }, action, target);
  }

  /**
   * The one place where a sign-in becomes a principal. An identity provider belongs here: a further route of this class
   * checks the provider's answer, finds the principal of that person, and opens the session as above.
   */
  async #authenticate(secret: string, address: string): Promise<Principal> {
    const waitMs = this.#failures.waitMs(address);
    if (waitMs > 0)
      throw new TendonError("rate_limited", "too many failed sign-ins from this address; retry later", {
        retryAfterMs: waitMs,
      });
    const text = secret.trim();
    const byToken = this.#dependencies.authentication.identify(text, address);
    const byCode = byToken === undefined ? await this.#codes.take(text) : undefined;
    const principal =
      byToken ?? (byCode === undefined ? undefined : this.#dependencies.tokens.current(byCode));
    if (principal !== undefined) return principal;
    this.#failures.count(address);
    this.#dependencies.events.signInFailed(address);
    throw new TendonError(
      "unauthenticated",
      "this is not a valid token or code; `tendon console` prints a new link",
    );
  }

  #view(request: FastifyRequest): SessionView {
    const { authorization } = request.headers;
    if (authorization !== undefined) return this.#viewOf(this.#dependencies.http.byTokenOrSession(request));
    const cookie = this.#dependencies.http.cookieOf(request);
    const found = cookie === undefined ? undefined : this.#dependencies.http.sessions.find(cookie);
    if (found !== undefined) return this.#viewOf(found.principal);
    const ended = cookie === undefined ? {} : { ended: this.#dependencies.http.sessions.whyEnded(cookie) };
    return { principal: null, gateway: null, ...ended };
  }

  #viewOf(principal: Principal): SessionView {
    return {
      principal: {
        name: principal.name,
        scopes: scopes.filter((scope) => hasScope(principal, scope)),
        limited: principal.devices !== undefined,
      },
      gateway: this.#dependencies.about(),
    };
  }
}
