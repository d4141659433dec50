/**
 * One token at one address. A request of the 2026-07-28 era is served by itself; older ones belong to a session. Both
 * get their server from the same place, so that the eras cannot drift apart.
 */
import {
  classifyInboundRequest,
  createMcpHandler,
  isInitializeRequest,
  type McpHttpHandler,
} from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import type { Principal } from "../../registry/registry.ts";
import { AgentView, type AgentViewNeeds } from "./agent-view.ts";
import type { Exchange } from "./exchange.ts";
import { rpcError } from "./rpc-error.ts";
import { agentServer } from "./server.ts";
import { Session } from "./session.ts";
import type { SessionCount } from "./session-count.ts";
import type { Surface } from "./surface.ts";

export interface EndpointNeeds extends AgentViewNeeds {
  readonly sessionCount: SessionCount;
}

const sessionIdleMs = 30 * 60_000;
const endpointIdleMs = 10 * 60_000;
const modernVersion = "2026-07-28";

export class Endpoint {
  readonly principal: Principal;
  readonly #needs: EndpointNeeds;
  readonly #view: AgentView;
  readonly #modern: McpHttpHandler;
  readonly #sessions = new Map<string, Session>();
  readonly #open = new Set<Exchange>();
  #usedAt: number;

  constructor(needs: EndpointNeeds, principal: Principal, surface: Surface) {
    this.#needs = needs;
    this.principal = principal;
    this.#view = new AgentView(needs, principal, surface);
    this.#modern = createMcpHandler(() => agentServer(this.#view), {
      legacy: "reject",
      maxSubscriptions: limits.mcpSubscriptionStreams.max,
    });
    this.#usedAt = needs.clock.monotonic();
  }

  async serve(exchange: Exchange): Promise<void> {
    this.#usedAt = this.#needs.clock.monotonic();
    this.#open.add(exchange);
    exchange.onEnd(() => this.#open.delete(exchange));
    await exchange.answer(await this.#answerTo(exchange));
  }

  /** Told to whoever listens, if what this address shows is not what it was. */
  toolsChanged(devices: ReadonlySet<string>): void {
    if (!this.#view.noticeChange(devices)) return;
    this.#modern.notify.toolsChanged();
    for (const session of this.#sessions.values()) session.toolsChanged();
  }

  /** Ends what has been left alone for too long. */
  sweep(): "used" | "unused" {
    const now = this.#needs.clock.monotonic();
    for (const session of this.#sessions.values()) {
      if (session.idleMs(now) > sessionIdleMs) session.close();
    }
    const unused = this.#sessions.size === 0 && this.#open.size === 0 && now - this.#usedAt > endpointIdleMs;
    return unused ? "unused" : "used";
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) session.close();
    await this.#modern.close();
    for (const exchange of this.#open) exchange.cut();
  }

  async #answerTo(exchange: Exchange): Promise<Response> {
    const { request, body } = exchange;
    if (!this.#isLegacy(exchange)) return await this.#modern.fetch(request, { parsedBody: body });
    const { sessionId } = exchange;
    if (sessionId !== undefined) {
      const session = this.#sessions.get(sessionId);
      return session === undefined
        ? rpcError(404, -32001, "Session not found")
        : await session.serve(exchange);
    }
    if (!isInitializeRequest(body)) {
      return rpcError(400, -32000, "Bad Request: Mcp-Session-Id header is required");
    }
    const session = this.#newSession();
    return session instanceof Session ? await session.serve(exchange) : session;
  }

  /** The SDK's own word on which era a request is of; only what has no body and no session is judged by its header. */
  #isLegacy({ request, body, sessionId }: Exchange): boolean {
    const version = request.headers.get("mcp-protocol-version") ?? undefined;
    if (request.method !== "POST") return sessionId !== undefined || version !== modernVersion;
    if (body === undefined) return false;
    const named = version === undefined ? {} : { protocolVersionHeader: version };
    return classifyInboundRequest({ httpMethod: "POST", ...named, body }).kind === "legacy";
  }

  #newSession(): Session | Response {
    try {
      this.#needs.sessionCount.take(this.principal.id);
    } catch (error) {
      if (error instanceof TendonError) return rpcError(error.kind.status, -32000, error.message);
      throw error;
    }
    return new Session(agentServer(this.#view), this.#needs.clock, {
      opened: (id, session) => this.#sessions.set(id, session),
      closed: (id) => {
        if (id !== undefined) this.#sessions.delete(id);
        this.#needs.sessionCount.give(this.principal.id);
      },
    });
  }
}
