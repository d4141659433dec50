/**
 * The gateway as an MCP endpoint [END-10…13], in place of xiaozhi's endpoint server: tool providers dial in and become
 * devices, voice servers dial in and use the fleet.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type EndpointList, endpointLimits, limits } from "@tendon/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import {
  type Authentication,
  NamedToken,
  type Principal,
  SharedPool,
  type Tokens,
} from "../../access/access.ts";
import { type Clock, isoTime } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { TendonError } from "../../errors.ts";
import type { EndpointEvents } from "../../events/events.ts";
import { refuseOnSocket } from "../../problem-document.ts";
import { version } from "../../version.ts";
import type { Http } from "../http/http.ts";
import type { Hub } from "../mcp/mcp.ts";
import { keepAlive } from "./keep-alive.ts";
import { agentOfAesToken, isForQuery } from "./query-token.ts";
import { SocketTransport } from "./socket-transport.ts";

/** A connected tool provider. */
export interface Provider {
  readonly device: string | undefined;
  readonly connectedAt: number;
  /** Frames that were not JSON. */
  readonly ignoredFrames: number;
  close(code: number, reason: string, deviceLeft: boolean): void;
}

export interface IncomingDependencies {
  readonly clock: Clock;
  readonly node: string;
  readonly endpoint: Config["endpoint"];
  readonly tokens: Pick<Tokens, "namesakes" | "onChange" | "onRevoked">;
  readonly authentication: Pick<Authentication, "identify" | "admit" | "spend">;
  readonly events: EndpointEvents;
  readonly hub: () => Promise<Hub>;
  readonly deviceOfSerial: (principal: Principal, serial: string) => Promise<string | undefined>;
  /** The client's address, read through a trusted proxy. */
  readonly addressOf: (request: IncomingMessage) => string | undefined;
  readonly openProvider: (socket: WebSocket, token: string) => Provider;
  /** The principal with the devices of this token's providers added. */
  readonly withProviders: (principal: Principal) => Promise<Principal>;
}

interface Admitted {
  readonly principal: Principal;
  /** As the peer's console knows it. */
  readonly agent: string;
}

interface Caller extends Admitted {
  readonly transport: SocketTransport;
  readonly connectedAt: number;
}

const paths = new Map<string, "provider" | "agent">([
  ["/mcp_endpoint/mcp/", "provider"],
  ["/mcp_endpoint/mcp", "provider"],
  ["/mcp_endpoint/call/", "agent"],
  ["/mcp_endpoint/call", "agent"],
]);
/** Voice servers wait 30 s for an answer. */
const callMs = 28_000;
const leaving = "the gateway is stopping";
const revoked = "the token was revoked or has expired";

export class IncomingEndpoint {
  readonly #dependencies: IncomingDependencies;
  readonly #compatible: NamedToken | undefined;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.processLineBytes.max,
  });
  readonly #callerPlaces = new SharedPool(endpointLimits.callers.max, "connections of voice servers");
  readonly #providerPlaces = new SharedPool(endpointLimits.providers.max, "tool providers");
  readonly #callers = new Set<Caller>();
  readonly #providers = new Map<Provider, Admitted>();
  readonly #stops: (() => void)[] = [];
  #stopped = false;

  constructor(dependencies: IncomingDependencies) {
    this.#dependencies = dependencies;
    const { tokens, endpoint } = dependencies;
    const { compatibility } = endpoint;
    this.#compatible = compatibility && new NamedToken(tokens, compatibility.token);
    this.#stops.push(
      tokens.onRevoked((id) => {
        for (const [provider, { principal }] of this.#providers)
          if (principal.id === id) provider.close(1008, revoked, false);
        // Hub knows only those that it serves already.
        for (const { principal, transport } of this.#callers)
          if (principal.id === id) transport.closeWith(1000, revoked);
      }),
    );
  }

  /** Returns false for other paths. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const side = paths.get((request.url ?? "").split("?")[0] ?? "");
    if (side === undefined || !this.#dependencies.endpoint.enabled) return false;
    const from = this.#dependencies.addressOf(request);
    try {
      const admitted = this.#admit(request, from, side);
      const pool = side === "agent" ? this.#callerPlaces : this.#providerPlaces;
      const leave = pool.take(admitted.principal, from);
      socket.once("close", leave);
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        // Until there is a listener: some peers send at once.
        webSocket.pause();
        webSocket.on("error", () => undefined);
        this.#dependencies.events.connections(side, 1);
        webSocket.on("close", () => this.#dependencies.events.connections(side, -1));
        if (side === "agent") void this.#serve(webSocket, admitted);
        else this.#openProvider(webSocket, admitted);
      });
    } catch (error) {
      const known =
        error instanceof TendonError ? error : new TendonError("internal", "it failed", {}, error);
      this.#dependencies.events.refused(from, known.code);
      refuseOnSocket(socket, known, known.code === "rate_limited" ? ["Retry-After: 5"] : []);
    }
    return true;
  }

  /** Registers `/mcp_endpoint/` and `/mcp_endpoint/health`, with the exact bodies that its peers read. */
  routes(http: Http): void {
    if (!this.#dependencies.endpoint.enabled) return;
    const hidden = { schema: { hide: true } };
    const ok = (result: object) => ({ result, error: null, id: null, jsonrpc: "2.0" });
    http.get("/mcp_endpoint/", hidden, () => ok({ message: "Tendon", version, status: "running" }));
    http.get("/mcp_endpoint/health", hidden, (request) => {
      const { key } = request.query as { readonly key?: unknown };
      if (!this.#knowsKey(key, this.#dependencies.addressOf(request.raw))) return wrongKey;
      const [tools, robots] = [this.#providers.size, this.#callers.size];
      const byAgent: Record<string, number> = {};
      for (const { agent } of this.#callers) byAgent[agent] = (byAgent[agent] ?? 0) + 1;
      return ok({
        status: "success",
        connections: {
          tool_connections: tools,
          robot_connections: robots,
          total_connections: tools + robots,
          robot_connections_by_agent: byAgent,
        },
      });
    });
  }

  view(): EndpointList["incoming"] {
    const { node, endpoint } = this.#dependencies;
    return {
      enabled: endpoint.enabled,
      callers: [...this.#callers].map(({ principal, transport, connectedAt }) => ({
        token: principal.name,
        client: transport.client ?? null,
        connectedAt: isoTime(connectedAt),
        tools: transport.tools ?? null,
        callsLastHour: transport.calls.count,
        node,
      })),
      providers: [...this.#providers].flatMap(([{ device, connectedAt, ignoredFrames }, { principal }]) =>
        device === undefined
          ? []
          : [{ token: principal.name, device, connectedAt: isoTime(connectedAt), ignoredFrames, node }],
      ),
    };
  }

  stop(): void {
    this.#stopped = true;
    this.#compatible?.stop();
    for (const stop of this.#stops) stop();
    for (const { transport } of this.#callers) transport.closeWith(1001, leaving);
    for (const provider of this.#providers.keys()) provider.close(1001, leaving, false);
  }

  #admit(request: IncomingMessage, from: string | undefined, side: "provider" | "agent"): Admitted {
    if (this.#stopped) throw new TendonError("shutting_down", leaving);
    const { authentication, endpoint } = this.#dependencies;
    const token = new URL(request.url ?? "", "http://gateway").searchParams.get("token") ?? undefined;
    const key = endpoint.compatibility?.key;
    const agent = key === undefined || token === undefined ? undefined : agentOfAesToken(token, key);
    const found =
      agent === undefined
        ? authentication.identify(token, from)
        : authentication.admit(() => this.#compatible?.principal, from);
    // A token for other uses counts as a guess too.
    if (found !== undefined && !isForQuery(found)) authentication.admit(() => undefined, from);
    if (found === undefined || !isForQuery(found))
      throw new TendonError("unauthenticated", "the token is missing, unknown, or not one for an endpoint");
    if (side === "agent" && !(found.scopes.has("read") && found.scopes.has("call")))
      throw new TendonError("forbidden", "the token lacks the scope `read` or `call`", { status: 403 });
    return { principal: found, agent: agent ?? found.name };
  }

  async #serve(socket: WebSocket, admitted: Admitted): Promise<void> {
    const { clock, authentication, events, hub, deviceOfSerial, withProviders } = this.#dependencies;
    const transport = new SocketTransport(socket, {
      clock,
      spend: () => authentication.spend(admitted.principal),
      ignored: () => events.ignored("agent"),
      deviceOfSerial: (serial) => deviceOfSerial(admitted.principal, serial),
    });
    const caller = { ...admitted, transport, connectedAt: clock.now() };
    this.#callers.add(caller);
    keepAlive(socket, clock);
    socket.on("close", () => this.#callers.delete(caller));
    try {
      const principal = await withProviders(admitted.principal);
      await (await hub()).attach(principal, { kind: "auto" }, transport, {
        maxTimeoutMs: callMs,
        askerOf: (id) => transport.askerOf(id),
      });
    } catch {
      transport.closeWith(1011, "the gateway cannot serve it now");
    }
  }

  #openProvider(socket: WebSocket, admitted: Admitted): void {
    const provider = this.#dependencies.openProvider(socket, admitted.principal.name);
    this.#providers.set(provider, admitted);
    socket.on("close", () => this.#providers.delete(provider));
  }

  /** Guesses count as failed sign-ins of their address, which has to wait after too many. */
  #knowsKey(key: unknown, from: string | undefined): boolean {
    const { endpoint, authentication } = this.#dependencies;
    const { healthKey } = endpoint;
    const equal =
      healthKey !== undefined && typeof key === "string" && timingSafeEqual(digest(key), digest(healthKey));
    try {
      return authentication.admit(() => (equal ? healthReader : undefined), from) !== undefined;
    } catch (error) {
      if (error instanceof TendonError) return false;
      throw error;
    }
  }
}

/** The management console of a voice server, which has the key and no token. */
const healthReader: Principal = {
  id: "endpoint:health",
  name: "endpoint health",
  scopes: new Set(),
  devices: undefined,
};

/** The body of the former server. Its peers read the code. */
const wrongKey = {
  result: null,
  error: { code: -32004, message: "密钥验证失败", data: { details: "提供的密钥无效或缺失" } },
  id: null,
  jsonrpc: "2.0",
};

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
