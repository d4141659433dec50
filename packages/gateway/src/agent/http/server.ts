/** The HTTP server: guards first, then routes; every failure leaves as a problem document. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import swagger from "@fastify/swagger";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { limits } from "@tendon/protocol";
import fastify, { type FastifyBaseLogger, type FastifyInstance, type RawServerDefault } from "fastify";
import type { Clock } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import { Cors } from "./cors.ts";
import { OriginGuard } from "./origin-guard.ts";
import { boundPipelines } from "./pipeline-gate.ts";
import { asTendonError, sendProblem } from "./problem.ts";
import { compileSerializer, compileValidator } from "./schema-compilers.ts";

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
  /** Origins of pages elsewhere that may use this gateway. */
  readonly allowedOrigins: readonly string[];
  /** Certificate and key, where the port speaks TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly version: string;
  readonly reportFault: (error: unknown) => void;
  /** A connection was cut off because its client sends without reading; `from` where it is to be reported. */
  readonly onCut: (from: string | undefined) => void;
}

/** A board over a bad line needs a few seconds; a socket that says nothing is not kept. */
const handshakeMs = 10_000;
/** For a whole request: long enough for a firmware image over a slow line, and not for ever. */
const requestMs = 180_000;
const guarded = ["/api", "/mcp", "/docs"];

declare module "fastify" {
  interface FastifyContextConfig {
    /** For people: a foreign Host or Origin is refused here too. */
    guarded?: boolean;
  }
}

export async function createHttp(settings: HttpSettings): Promise<Http> {
  const http = fastify({
    logger: false,
    bodyLimit: limits.restBodyBytes.max,
    requestTimeout: requestMs,
    // One proxy: what it has added to the list is believed, what was in the list before is not.
    trustProxy: settings.trustProxy ? (_address, hop) => hop === 0 : false,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    // Addresses that cannot be read never reach a route or the error handler below.
    frameworkErrors: (error, _request, reply) => void sendProblem(reply, asTendonError(error)),
    // The framework's types know either server; all that is used here is in both.
    ...((settings.tls === undefined
      ? {}
      : { https: { ...settings.tls, handshakeTimeout: handshakeMs } }) as object),
  }).withTypeProvider<TypeBoxTypeProvider>();
  boundPipelines(http.server as Server, { clock: settings.clock, onCut: settings.onCut });
  endSilentConnections(http.server, settings.clock, settings.tls !== undefined);
  const parseJson = http.getDefaultJsonParser("error", "error");
  http.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    // A request with nothing to say, such as DELETE, may still name the type it always names.
    if (body === "") done(null, undefined);
    else void parseJson(request, body.toString(), done);
  });
  http.setValidatorCompiler(compileValidator);
  http.setSerializerCompiler(compileSerializer);
  const cors = new Cors(settings.allowedOrigins);
  const guard = new OriginGuard(settings.host, settings.publicUrl, (origin) => cors.allows(origin));
  http.addHook("onRequest", (request, reply, next) => {
    // By the route that answers, not by the address as it is spelt: `/%61pi` is `/api` to the router.
    const at = request.routeOptions.url ?? request.url;
    const { config } = request.routeOptions;
    if (config.guarded === true || guarded.some((prefix) => at.startsWith(prefix))) {
      guard.check(request);
      if (cors.answers(request, reply)) return;
    }
    next();
  });
  http.setErrorHandler(async (error: TendonError, _request, reply) => {
    const known = asTendonError(error);
    if (known.code === "internal") settings.reportFault(known.cause ?? known);
    await sendProblem(reply, known);
  });
  http.setNotFoundHandler(async (request, reply) => {
    await sendProblem(
      reply,
      new TendonError("not_found", `${request.method} ${pathOf(request.url)} is not served here`),
    );
  });
  await http.register(swagger, {
    refResolver: { buildLocalReference: (schema, _base, _fragment, at) => nameOf(schema) ?? `Schema${at}` },
    openapi: {
      info: {
        title: "Tendon",
        version: settings.version,
        description: "Devices that offer tools, for whoever wants to use them.",
      },
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
    },
  });
  return http;
}

function nameOf(schema: { readonly [key: string]: unknown }): string | undefined {
  return typeof schema["$id"] === "string" ? schema["$id"] : undefined;
}

function pathOf(url: string): string {
  return url.split("?")[0] ?? url;
}

/** A board over a bad line needs a few seconds for its first request; who says nothing only takes up room. */
const firstRequestMs = 15_000;
const lookEveryMs = 5_000;

/** Ends connections whose first request has not come in time; the runtime looks only at those that have begun one. */
function endSilentConnections(server: Server, clock: Clock, tls: boolean): void {
  /** In the order of their coming. */
  const silentSince = new Map<Socket, number>();
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    silentSince.set(socket, clock.monotonic());
    socket.once("close", () => silentSince.delete(socket));
  });
  const heard = ({ socket }: IncomingMessage) => silentSince.delete(socket);
  server.on("request", heard);
  server.on("upgrade", heard);
  const timer = clock.every(lookEveryMs, () => {
    for (const [socket, since] of silentSince) {
      if (clock.monotonic() - since < firstRequestMs) return;
      socket.destroy();
    }
  });
  server.once("close", () => timer.cancel());
}
