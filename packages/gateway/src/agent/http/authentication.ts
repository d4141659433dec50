/**
 * Who makes an HTTP request: the principal of a bearer token, or of the console session that a cookie names. Every HTTP
 * interface asks here. Tokens and rate limits are checked by `Authentication` of access/, which the MQTT broker uses too.
 */
import { consoleHeader, type SessionEnding } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import type { Authentication, Principal } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import { readCookie } from "./cookie.ts";
import { type Sessions, sessionIdleMs, sessionMaxAgeMs } from "./sessions.ts";

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal;
    /** The console session of a page's request; `undefined` for a request with a token. */
    consoleSession: string | undefined;
  }
}

export interface HttpAuthenticationDependencies {
  readonly authentication: Authentication;
  readonly events: Events;
  readonly sessions: Sessions;
  readonly cookieName: string;
  /** The address that people open the console at. */
  readonly consoleUrl: () => string;
}

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);
const hourMs = 3_600_000;

const endingTexts: Readonly<Record<SessionEnding, string>> = {
  signed_out: "the session was signed out",
  token: "the session ended with its token, which was revoked, replaced or has expired",
  idle: `the session ended after ${sessionIdleMs / hourMs} hours without use`,
  age: `the session ended after ${sessionMaxAgeMs / hourMs / 24} days`,
  displaced: "too many sessions are open, and this one was the least recently used",
  unknown: "this gateway does not know the session",
};

export class HttpAuthentication {
  readonly sessions: Sessions;
  readonly #dependencies: HttpAuthenticationDependencies;

  constructor(dependencies: HttpAuthenticationDependencies) {
    this.#dependencies = dependencies;
    this.sessions = dependencies.sessions;
  }

  /** A bearer token in the Authorization header, and nowhere else: addresses end up in logs. */
  byToken(request: FastifyRequest): Principal {
    const { authentication, events } = this.#dependencies;
    const token = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? "")?.[1];
    const principal = authentication.identify(token, request.ip, request.raw.socket);
    if (principal !== undefined) return principal;
    events.signInFailed(request.ip);
    const detail =
      token === undefined
        ? "send `Authorization: Bearer <token>`"
        : "the token is unknown, expired or revoked";
    throw new TendonError("unauthenticated", detail);
  }

  /** By the token if the request has one, otherwise by the console session. */
  byTokenOrSession(request: FastifyRequest): Principal {
    const cookie = request.headers.authorization === undefined ? this.cookieOf(request) : undefined;
    if (cookie === undefined) return this.byToken(request);
    const found = this.sessions.find(cookie);
    if (found === undefined) {
      const detail = `${endingTexts[this.sessions.whyEnded(cookie)]}; sign in again`;
      throw new TendonError("unauthenticated", detail);
    }
    if (!safeMethods.has(request.method)) this.requireOwnPage(request);
    this.#dependencies.authentication.spendSession(found.principal, request.ip);
    request.consoleSession = found.key;
    return found.principal;
  }

  cookieOf(request: FastifyRequest): string | undefined {
    return readCookie(request, this.#dependencies.cookieName);
  }

  /** [CON-4] Rejects other pages in the same browser: requires the console's exact Origin, with its port, and the console header. */
  requireOwnPage(request: FastifyRequest): void {
    const { origin, host } = request.headers;
    const own = [`${request.protocol}://${host ?? ""}`, originOf(this.#dependencies.consoleUrl())];
    if (origin === undefined || !own.includes(origin))
      throw new TendonError(
        "forbidden",
        "only the console may do this with a session: the Origin header must be the console's",
      );
    if (request.headers[consoleHeader] === undefined)
      throw new TendonError("forbidden", `the header \`${consoleHeader}\` is missing`);
  }
}

function originOf(url: string): string | undefined {
  try {
    return new URL(url).origin;
  } catch {
    return undefined;
  }
}
