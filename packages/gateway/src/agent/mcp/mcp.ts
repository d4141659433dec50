/**
 * The fleet as a standard MCP server, in both eras of the protocol: 2026-07-28 without sessions, 2025-11-25 and older
 * with sessions. The official SDK implements the protocol. This module authenticates clients, selects the tools of an
 * address and formats results. It loads the SDK soon after the first device connects, or when the first agent does: a
 * gateway without either stays small.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { limits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { asAgent, type Principal, requireScope, type Tokens } from "../../access/access.ts";
import type { Timer } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import { named } from "../../named-routes.ts";
import type { Http, HttpAuthentication } from "../http/http.ts";
import type { Services } from "../services.ts";
import { Exchange } from "./exchange.ts";
import type { Hub, HubDependencies } from "./hub.ts";
import type { ViewSelection } from "./view-selection.ts";

export type { Hub } from "./hub.ts";
export type { ViewSelection } from "./view-selection.ts";

export interface McpDependencies extends HubDependencies {
  readonly authentication: HttpAuthentication;
  readonly tokens: Tokens;
  readonly events: Events;
  readonly services: Services;
}

type SelectionOf = (request: FastifyRequest, principal: Principal) => ViewSelection;

const prepareAfterMs = 1_000;
const methods = ["GET", "POST", "DELETE", "PUT", "PATCH"];

/** Returns the function that gets the hub, and loads the SDK for it. */
export async function mcpRoutes(http: Http, dependencies: McpDependencies): Promise<() => Promise<Hub>> {
  let hub: Promise<Hub> | undefined;
  const loaded = () => {
    hub ??= loadHub().then((module) => new module.Hub(dependencies));
    return hub;
  };
  const stopPreparing = prepareForAgents(dependencies);
  dependencies.tokens.onRevoked((tokenId) => void hub?.then((open) => open.revoked(tokenId)));
  // In `preClose`, because the server then waits for its connections, and agents keep streams open.
  http.addHook("preClose", async () => {
    stopPreparing();
    await (await hub)?.stop();
  });

  const register = (agents: unknown, _options: unknown, ready: () => void) => {
    const routes = agents as Http;
    readJsonOnly(routes);
    const serve = (url: string, selectionOf: SelectionOf) =>
      routes.route({
        method: methods,
        url,
        exposeHeadRoute: false,
        bodyLimit: limits.mcpBodyBytes.max,
        schema: { hide: true },
        onRequest: (request, _reply, next) => {
          request.principal = asAgent(dependencies.authentication.byToken(request));
          requireScope(request.principal, "read");
          next();
        },
        handler: async (request: FastifyRequest, reply: FastifyReply) => {
          const { principal } = request;
          const selection = selectionOf(request, principal);
          reply.hijack();
          const exchange = new Exchange(request, reply);
          try {
            const open = await loaded();
            await open.serve(principal, selection, exchange);
          } catch (error) {
            dependencies.reportFault(error);
            exchange.fail();
          }
        },
      });
    serve("/mcp", () => ({ kind: "auto" }));
    serve("/mcp/flat", () => ({ kind: "flat" }));
    serve("/mcp/compact", () => ({ kind: "compact" }));
    serve("/mcp/devices/:device", (request, principal) => {
      const { device } = request.params as { readonly device: string };
      return { kind: "device", device: dependencies.services.fleet.device(principal, device).id };
    });
    ready();
  };
  await http.register(named("mcp", register));
  return loaded;
}

/** In two steps, because the gateway answers no request while it evaluates a module: the SDK first, then what uses it. */
async function loadHub(): Promise<typeof import("./hub.ts")> {
  await import("./server.ts");
  await nextTurn();
  return await import("./hub.ts");
}

/** Loads the SDK when the first device has been connected for a moment, so that the first agent need not wait for it. */
function prepareForAgents({ clock, events, reportFault }: McpDependencies): () => void {
  let timer: Timer | undefined;
  const unsubscribe = events.subscribe(({ type }) => {
    if (type !== "device.online") return;
    unsubscribe();
    timer = clock.after(prepareAfterMs, () => void loadHub().catch(reportFault));
  });
  return () => {
    unsubscribe();
    timer?.cancel();
  };
}

/** Answers a body that is not JSON with a JSON-RPC error. The SDK answers JSON that is not MCP. */
function readJsonOnly(http: Http): void {
  const parse = http.getDefaultJsonParser("error", "error");
  http.removeAllContentTypeParsers();
  http.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parse(request, body.toString(), done);
  });
  http.setErrorHandler(async (error, request, reply) => {
    const rpc = rpcErrorOf(error);
    if (rpc === undefined) throw error;
    await reply
      .code(rpc.status)
      .type("application/json")
      .send({ jsonrpc: "2.0", id: null, error: { code: rpc.code, message: rpc.message } });
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
