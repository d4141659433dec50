/** The HTTP server: guards first, then routes. Every error becomes a problem document. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { limits } from "@tendon/protocol";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
} from "fastify";
import type { Clock } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import { Cors } from "./cors.ts";
import { describeRoutes } from "./description.ts";
import { isForwarded } from "./forwarding.ts";
import { requireKnownQuery } from "./known-query.ts";
import { OriginGuard } from "./origin-guard.ts";
import { refuseExcess } from "./overload-gate.ts";
import { boundPipelines } from "./pipeline-gate.ts";
import { asTendonError, sendProblem } from "./problem.ts";
import { compileSerializer, compileValidator } from "./schema-compilers.ts";
import { refuseExpectations, refuseUnreadable } from "./unreadable-request.ts";

export type Http = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export interface HttpSettings {
  readonly clock: Clock;
  readonly host: string;
  readonly publicUrl?: string | undefined;
  readonly trustProxy: boolean;
  /** Other origins whose pages may use this gateway. */
  readonly allowedOrigins: readonly string[];
  /** Set if the port serves TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly version: string;
  readonly reportFault: (error: unknown) => void;
  /** A connection was closed because its client sends without reading; `from` is set if it is to be logged. */
  readonly onCut: (from: string | undefined) => void;
  /** A request was refused because there are too many; `from` is set if it is to be logged. */
  readonly onRefused: (from: string | undefined) => void;
}

/** A board on a bad network needs a few seconds for its TLS handshake. */
const handshakeMs = 10_000;
/** For a whole request: enough for a firmware image over a slow network. */
const requestMs = 180_000;
/** A board sends its request for settings at once, and anybody may pretend to be one. */
const boardBodyMs = 20_000;
/** Paths of devices, whose firmware sends Host without a port, and of probes, which may use any name. */
const open = ["/xiaozhi/", "/vision/", "/mcp_endpoint/", "/healthz", "/readyz"];
/** Served also in overload: a board does not ask again soon, and operators must see what happens. */
const notRefused = [...open, "/metrics"];
/** No cache keeps an answer of the interface, and no browser guesses what it is. */
const headers = { "x-content-type-options": "nosniff", "cache-control": "no-store" };

/** Addresses of programs and boards: unknown ones below them are problem documents, also in a browser. */
const programPaths = ["/api", "/mcp", "/assets", "/xiaozhi", "/vision", "/.well-known"];

declare module "fastify" {
  interface FastifyInstance {
    /** Answers a browser that opens an address without a route. The console sets it. */
    sendUnknownPage: ((request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) | undefined;
  }
}

/** Node would refuse a request without `Host` on its own, without a code. */
const nodeOptions = { requireHostHeader: false };

export async function createHttp(settings: HttpSettings): Promise<Http> {
  const http = fastify({
    logger: false,
    bodyLimit: limits.restBodyBytes.max,
    requestTimeout: requestMs,
    // One proxy: only the last address of X-Forwarded-For, which that proxy added, is trusted.
    trustProxy: settings.trustProxy ? (_address, hop) => hop === 0 : false,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    // A malformed URL never reaches a route or the error handler below.
    frameworkErrors: (error, _request, reply) => void sendProblem(reply, asTendonError(error)),
    clientErrorHandler: refuseUnreadable,
    // Fastify's types differ for HTTP and HTTPS servers; this file uses only what both have.
    ...((settings.tls === undefined
      ? { http: nodeOptions }
      : { https: { ...nodeOptions, ...settings.tls, handshakeTimeout: handshakeMs } }) as object),
  }).withTypeProvider<TypeBoxTypeProvider>();
  const { clock, onRefused } = settings;
  refuseExcess(http.server as Server, { clock, exempt: notRefused, onRefused });
  refuseExpectations(http.server as Server);
  boundPipelines(http.server as Server, { clock: settings.clock, onCut: settings.onCut });
  endSilentConnections(http.server, settings.clock, settings.tls !== undefined);
  const parseJson = http.getDefaultJsonParser("error", "error");
  http.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    // Some clients send a content type without a body, for example with DELETE.
    if (body === "") done(null, undefined);
    else void parseJson(request, body.toString(), done);
  });
  http.setValidatorCompiler(compileValidator);
  http.setSerializerCompiler(compileSerializer);
  const cors = new Cors(settings.allowedOrigins);
  const guard = new OriginGuard(settings.host, settings.publicUrl, (origin) => cors.allows(origin));
  http.addHook("onRequest", (request, reply, next) => {
    // Checked by the matched route, not by the URL as sent: the router reads `/%61pi` as `/api`.
    const at = request.routeOptions.url ?? request.url;
    if (request.headers.host === undefined && request.raw.httpVersion !== "1.0")
      throw new TendonError("bad_request", "the Host header is missing");
    if (at.startsWith("/api/")) reply.headers(headers);
    if (!open.some((prefix) => at.startsWith(prefix))) {
      if (!isForwarded(request)) guard.check(request);
      if (cors.answers(request, reply)) return;
    }
    next();
  });
  http.addHook("preParsing", (request, _reply, payload, next) => {
    // A download has no body, and may take long.
    const isBoard = request.method === "POST" && request.routeOptions.url?.startsWith("/xiaozhi") === true;
    if (isBoard) boundBody(request, settings.clock);
    next(null, payload);
  });
  http.setErrorHandler(async (error: TendonError, request, reply) => {
    const known = asTendonError(error, request);
    if (known.code === "internal") settings.reportFault(known.cause ?? known);
    await sendProblem(reply, known);
  });
  const methodsAt = collectMethods(http);
  http.decorate("sendUnknownPage", undefined);
  http.setNotFoundHandler(async (request, reply) => {
    if (http.sendUnknownPage !== undefined && isNavigation(request)) {
      guard.check(request);
      return await http.sendUnknownPage(request, reply);
    }
    const path = pathOf(request.url);
    const detail = `there is no route ${request.method} ${path}`;
    const methods = methodsAt(path);
    if (methods.length === 0) return await sendProblem(reply, new TendonError("not_found", detail));
    reply.header("allow", methods.join(", "));
    const known = `${detail}; the methods there are ${methods.join(", ")}`;
    return await sendProblem(reply, new TendonError("not_found", known, { status: 405 }));
  });
  requireKnownQuery(http);
  await describeRoutes(http, settings.version);
  return http;
}

/** Whether a browser opens this address, in contrast to a program or a page's script that requests it. */
function isNavigation({ method, headers, url }: FastifyRequest): boolean {
  if (method !== "GET" || headers.accept?.includes("text/html") !== true) return false;
  return !programPaths.some((prefix) => url.startsWith(prefix));
}

/** Finds the methods of the REST routes at a path. */
function collectMethods(http: Http): (path: string) => string[] {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  http.addHook("onRoute", ({ url, method }) => {
    if (!url.startsWith("/api/")) return;
    const pattern = new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:[a-z]+/g, "[^/]+")}/?$`);
    routes.push({ pattern, methods: [method].flat() });
  });
  return (path) => {
    const at = routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(at.flatMap(({ methods }) => methods))];
  };
}

function pathOf(url: string): string {
  return url.split("?")[0] ?? url;
}

/** A board on a bad network needs a few seconds for its first request. */
const firstRequestMs = 15_000;
const checkIntervalMs = 5_000;

/** Closes connections without a first request in time. Node's own timeout starts only when a request begins. */
function endSilentConnections(server: Server, clock: Clock, tls: boolean): void {
  /** In the order of connecting. */
  const silentSince = new Map<Socket, number>();
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    silentSince.set(socket, clock.monotonic());
    socket.once("close", () => silentSince.delete(socket));
  });
  const began = ({ socket }: IncomingMessage) => silentSince.delete(socket);
  server.on("request", began);
  server.on("upgrade", began);
  const timer = clock.every(checkIntervalMs, () => {
    for (const [socket, since] of silentSince) {
      if (clock.monotonic() - since < firstRequestMs) return;
      socket.destroy();
    }
  });
  server.once("close", () => timer.cancel());
}

/** Closes the connection if the body is not complete in time. */
function boundBody({ raw }: FastifyRequest, clock: Clock): void {
  const late = clock.after(boardBodyMs, () => raw.destroy());
  raw.once("end", () => late.cancel());
  raw.once("close", () => late.cancel());
}
