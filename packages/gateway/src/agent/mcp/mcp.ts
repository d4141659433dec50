/**
 * The fleet as a standard MCP server, in both of the protocol's eras: 2026-07-28 without sessions, 2025-11-25 and
 * older with them. The official SDK speaks the protocol; here is decided who is let in, which tools an address shows
 * and what a call's end looks like. Nothing of it is loaded before the first agent comes.
 */
import { limits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { asAgent, type Principal, requireScope, type Tokens } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import type { Http, HttpAuthentication } from "../http/http.ts";
import type { Services } from "../services.ts";
import { Exchange } from "./exchange.ts";
import type { Hub, HubNeeds } from "./hub.ts";
import type { Surface } from "./surface.ts";

export interface McpNeeds extends HubNeeds {
  readonly authentication: HttpAuthentication;
  readonly tokens: Tokens;
  readonly events: Events;
  readonly services: Services;
}

type SurfaceOf = (request: FastifyRequest, principal: Principal) => Surface;

const methods = ["GET", "POST", "DELETE", "PUT", "PATCH"];

export async function mcpRoutes(http: Http, needs: McpNeeds): Promise<void> {
  let hub: Promise<Hub> | undefined;
  const loaded = () => {
    hub ??= import("./hub.ts").then((module) => new module.Hub(needs));
    return hub;
  };
  needs.tokens.onRevoked((tokenId) => void hub?.then((open) => open.revoked(tokenId)));
  // Before the server waits for its connections to end: an agent holds streams open.
  http.addHook("preClose", async () => {
    await (await hub)?.stop();
  });

  await http.register((agents, _options, ready) => {
    const routes = agents as unknown as Http;
    readJsonOnly(routes);
    const serve = (url: string, surfaceOf: SurfaceOf) =>
      routes.route({
        method: methods,
        url,
        exposeHeadRoute: false,
        bodyLimit: limits.mcpBodyBytes.max,
        schema: { hide: true },
        onRequest: (request, _reply, next) => {
          request.principal = asAgent(needs.authentication.byToken(request));
          requireScope(request.principal, "read");
          next();
        },
        handler: async (request: FastifyRequest, reply: FastifyReply) => {
          const { principal } = request;
          const surface = surfaceOf(request, principal);
          reply.hijack();
          const exchange = new Exchange(request, reply);
          try {
            const open = await loaded();
            await open.serve(principal, surface, exchange);
          } catch (error) {
            needs.reportFault(error);
            exchange.fail();
          }
        },
      });
    serve("/mcp", () => ({ kind: "auto" }));
    serve("/mcp/flat", () => ({ kind: "flat" }));
    serve("/mcp/compact", () => ({ kind: "compact" }));
    serve("/mcp/devices/:device", (request, principal) => {
      const { device } = request.params as { readonly device: string };
      return { kind: "device", device: needs.services.fleet.device(principal, device).id };
    });
    ready();
  });
}

/** The SDK answers for bodies that are no MCP; what is no JSON is answered here, in JSON-RPC's words. */
function readJsonOnly(http: Http): void {
  const parse = http.getDefaultJsonParser("error", "error");
  http.removeAllContentTypeParsers();
  http.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parse(request, body.toString(), done);
  });
  http.setErrorHandler(async (error, request, reply) => {
    const said = rpcErrorOf(error);
    if (said === undefined) throw error;
    await reply
      .code(said.status)
      .type("application/json")
      .send({ jsonrpc: "2.0", id: null, error: { code: said.code, message: said.message } });
    request.raw.resume();
  });
}

function rpcErrorOf(error: unknown): { status: number; code: number; message: string } | undefined {
  if (error instanceof TendonError) return undefined;
  const status = (error as { statusCode?: unknown }).statusCode;
  if (status === 400) return { status, code: -32700, message: "Parse error: the body is not valid JSON" };
  if (status === 413) {
    return { status, code: -32600, message: `the body may have ${limits.mcpBodyBytes.max} bytes at most` };
  }
  if (status === 415) return { status, code: -32600, message: "Content-Type must be application/json" };
  return undefined;
}
