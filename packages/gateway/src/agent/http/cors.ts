/**
 * [SRV-16] Pages of the origins in http.allowedOrigins may use /mcp and the REST API with a token. Their cookies are
 * ignored: otherwise the page could act as the person who is signed in to the console.
 */
import type { FastifyReply, FastifyRequest } from "fastify";

const methods = "GET, POST, PUT, PATCH, DELETE";
const requestHeaders = [
  "Authorization",
  "Content-Type",
  "Accept",
  "Idempotency-Key",
  "Last-Event-ID",
  "Mcp-Method",
  "Mcp-Name",
  "Mcp-Protocol-Version",
  "Mcp-Session-Id",
];
const exposedHeaders = [
  "Mcp-Session-Id",
  "Mcp-Protocol-Version",
  "WWW-Authenticate",
  "Retry-After",
  "Content-Disposition",
].join(", ");
/** How long a browser caches a preflight, and with it an older configuration. */
const maxAgeSeconds = 600;
const served = /^\/(?:mcp|api)(?:[/?]|$)/;
const mcp = /^\/mcp(?:[/?]|$)/;
const parameterHeader = /^mcp-param-[a-z0-9-]+$/;

export class Cors {
  readonly #allowed: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#allowed = new Set(origins.map(asSent));
  }

  allows(origin: string): boolean {
    return this.#allowed.has(origin);
  }

  /** Sets the headers of the reply; returns `true` if it has sent the reply. The caller has checked the origin. */
  answers(request: FastifyRequest, reply: FastifyReply): boolean {
    const at = request.routeOptions.url ?? request.url;
    if (!served.test(at)) return false;
    const { origin, host } = request.headers;
    const crosses = origin !== undefined && this.allows(origin) && !isOwn(origin, host);
    // On the raw reply, because /mcp writes its replies without Fastify.
    if (this.#allowed.size > 0) reply.raw.setHeader("vary", "Origin");
    if (crosses) this.#setHeaders(request, reply, origin);
    if (request.method !== "OPTIONS" || (!crosses && !mcp.test(at))) return false;
    if (mcp.test(at)) reply.raw.setHeader("allow", "GET, POST, DELETE, OPTIONS");
    void reply.code(204).send();
    return true;
  }

  #setHeaders(request: FastifyRequest, reply: FastifyReply, origin: string): void {
    delete request.raw.headers.cookie;
    const { raw } = reply;
    raw.setHeader("access-control-allow-origin", origin);
    raw.setHeader("access-control-expose-headers", exposedHeaders);
    if (request.method !== "OPTIONS") return;
    const asked = String(request.headers["access-control-request-headers"] ?? "").toLowerCase();
    // MCP clients may send arguments of a tool as `Mcp-Param-…` headers too.
    const parameters = asked.split(",").map((name) => name.trim());
    const all = [...requestHeaders, ...parameters.filter((name) => parameterHeader.test(name))];
    raw.setHeader("access-control-allow-methods", methods);
    raw.setHeader("access-control-allow-headers", all.join(", "));
    raw.setHeader("access-control-max-age", String(maxAgeSeconds));
  }
}

/** As a browser sends it: in lower case, without the default port. */
function asSent(origin: string): string {
  const { origin: known } = new URL(origin);
  return known === "null" ? origin.toLowerCase() : known;
}

function isOwn(origin: string, host: string | undefined): boolean {
  return origin.replace(/^https?:\/\//, "") === host;
}
