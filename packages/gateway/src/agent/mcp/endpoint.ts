/**
 * One token at one address. A request of the 2026-07-28 era is independent; an older one belongs to a session. Both use
 * `agentServer`, so that the eras behave alike.
 */
import {
  classifyInboundRequest,
  createMcpHandler,
  isInitializeRequest,
  type McpHttpHandler,
  type Transport,
} from "@modelcontextprotocol/server";
import { isObject, limits } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import { AgentView, type AgentViewDependencies, type VoiceAgent } from "./agent-view.ts";
import type { Changes } from "./change-notifier.ts";
import type { Exchange } from "./exchange.ts";
import { Subscriptions } from "./resources/resources.ts";
import { rpcError } from "./rpc-error.ts";
import { agentServer } from "./server.ts";
import { AgentSession, Session } from "./session.ts";
import type { SessionSlot, SessionSlots } from "./session-slots.ts";
import type { ViewSelection } from "./view-selection.ts";

export interface EndpointDependencies extends AgentViewDependencies {
  readonly sessionSlots: SessionSlots;
}

const sessionIdleMs = 30 * 60_000;
const endpointIdleMs = 10 * 60_000;
const modernVersion = "2026-07-28";

export class Endpoint {
  readonly principal: Principal;
  readonly #dependencies: EndpointDependencies;
  readonly #view: AgentView;
  readonly #modern: McpHttpHandler;
  readonly #sessions = new Map<string, Session>();
  /** Clients on connections of their own. */
  readonly #attached = new Set<AgentSession>();
  readonly #open = new Set<Exchange>();
  /** The subscriptions of each stream of the newer era. */
  readonly #listening = new Set<Subscriptions>();
  #usedAt: number;

  constructor(
    dependencies: EndpointDependencies,
    principal: Principal,
    selection: ViewSelection,
    voice?: VoiceAgent,
  ) {
    this.#dependencies = dependencies;
    this.principal = principal;
    this.#view = new AgentView(dependencies, principal, selection, voice);
    const make = (method: string | undefined) => agentServer(this.#view, undefined, method);
    this.#modern = createMcpHandler(
      ({ requestInfo }) => make(requestInfo?.headers.get("mcp-method") ?? undefined),
      {
        legacy: "reject",
        maxSubscriptions: limits.mcpSubscriptionStreams.max,
      },
    );
    this.#usedAt = dependencies.clock.monotonic();
  }

  async serve(exchange: Exchange): Promise<void> {
    this.#usedAt = this.#dependencies.clock.monotonic();
    this.#open.add(exchange);
    exchange.onEnd(() => this.#open.delete(exchange));
    if (this.#isLegacy(exchange)) await this.#serveInSession(exchange);
    else await this.#serveModern(exchange);
  }

  /** Serves one client on a connection of its own, until that ends. */
  async attach(transport: Transport, ended: () => void): Promise<void> {
    const subscriptions = new Subscriptions(this.#view);
    const server = agentServer(this.#view, subscriptions);
    const session = new AgentSession(server, subscriptions);
    server.onclose = () => {
      subscriptions.close();
      this.#attached.delete(session);
      ended();
    };
    this.#attached.add(session);
    await server.connect(transport);
  }

  /** Sends keep-alives on the gateway's own streams; the SDK sends them on its own. */
  keepAlive(): void {
    for (const exchange of this.#open) exchange.keepAlive();
    for (const session of this.#sessions.values()) session.keepAlive();
  }

  /** Notifies clients if the tool list of this address has changed. */
  toolsChanged(devices: ReadonlySet<string>): void {
    if (!this.#view.listChanged(devices)) return;
    this.#modern.notify.toolsChanged();
    for (const session of this.#clients()) session.toolsChanged();
  }

  /** Notifies the subscribers of what has changed. */
  changed({ parts, own, resourceLists, promptLists }: Changes): void {
    if (this.#listening.size === 0 && this.#sessions.size === 0 && this.#attached.size === 0) return;
    if (this.#isWatched()) this.#partsChanged(parts);
    const only = this.#view.selection.kind === "device" ? this.#view.selection.device : undefined;
    for (const uri of (only === undefined ? undefined : own.get(only)) ?? []) this.#resourceUpdated(uri);
    if (only === undefined) return;
    if (resourceLists.has(only)) {
      this.#modern.notify.resourcesChanged();
      for (const session of this.#clients()) session.resourcesChanged();
    }
    if (promptLists.has(only) && this.#view.program?.prompts === true) {
      this.#modern.notify.promptsChanged();
      for (const session of this.#clients()) session.promptsChanged();
    }
  }

  #isWatched(): boolean {
    return this.#listening.size > 0 || [...this.#clients()].some(({ hasSubscriptions }) => hasSubscriptions);
  }

  #partsChanged(parts: Changes["parts"]): void {
    for (const [device, changed] of parts) {
      if (!this.#shows(device)) continue;
      for (const part of changed) {
        const uris = new Set([...this.#listening].flatMap((stream) => [...stream.watched(device, part)]));
        for (const uri of uris) this.#modern.notify.resourceUpdated(uri);
        for (const session of this.#clients()) session.partChanged(device, part);
      }
    }
  }

  /** Closes sessions that have been idle too long; returns whether the endpoint itself is unused. */
  sweep(): "used" | "unused" {
    const now = this.#dependencies.clock.monotonic();
    for (const session of this.#sessions.values()) {
      if (now - (session.idleSince ?? now) > sessionIdleMs) session.close();
    }
    const unused =
      this.#sessions.size === 0 &&
      this.#attached.size === 0 &&
      this.#open.size === 0 &&
      now - this.#usedAt > endpointIdleMs;
    return unused ? "unused" : "used";
  }

  async close(): Promise<void> {
    for (const session of this.#clients()) session.close();
    this.#view.openCalls.close();
    await this.#modern.close();
    for (const exchange of this.#open) exchange.destroy();
  }

  *#clients(): Iterable<AgentSession> {
    yield* this.#sessions.values();
    yield* this.#attached;
  }

  #shows(device: string): boolean {
    const { selection } = this.#view;
    if (selection.kind === "device" && selection.device !== device) return false;
    return this.#dependencies.services.fleet.visible(this.principal, device);
  }

  #resourceUpdated(uri: string): void {
    this.#modern.notify.resourceUpdated(uri);
    for (const session of this.#clients()) session.resourceUpdated(uri);
  }

  async #serveModern(exchange: Exchange): Promise<void> {
    if (exchange.method === "POST" && exchange.body === undefined) {
      rpcError(exchange, 400, -32700, "Parse error: the body is empty");
      return;
    }
    const parsedBody = await this.#watchFor(exchange);
    await exchange.answer(await this.#modern.fetch(exchange.webRequest, { parsedBody }));
  }

  async #serveInSession(exchange: Exchange): Promise<void> {
    const { sessionId } = exchange;
    if (sessionId !== undefined) {
      const session = this.#sessions.get(sessionId);
      if (session === undefined) rpcError(exchange, 404, -32001, "Session not found");
      else session.serve(exchange);
    } else if (isInitializeRequest(exchange.body)) await this.#openSession(exchange);
    else rpcError(exchange, 400, -32000, "Bad Request: Mcp-Session-Id header is required");
  }

  /**
   * The SDK acknowledges every subscription of a stream of the newer era. So it gets only those that the client may
   * have, by the same rules as in a session.
   */
  async #watchFor(exchange: Exchange): Promise<unknown> {
    const { body } = exchange;
    if (exchange.header("mcp-method") !== "subscriptions/listen") return body;
    const subscriptions = new Subscriptions(this.#view);
    this.#listening.add(subscriptions);
    exchange.onEnd(() => {
      this.#listening.delete(subscriptions);
      subscriptions.close();
    });
    const uris = watchedUris(body);
    if (uris.length === 0) return body;
    for (const uri of uris) await subscriptions.add(uri).catch(() => undefined);
    return watchingOnly(body, (uri) => subscriptions.has(uri));
  }

  /** By the request's own headers; without them the SDK classifies the request. */
  #isLegacy(exchange: Exchange): boolean {
    const version = exchange.header("mcp-protocol-version");
    if (version === modernVersion) return false;
    if (exchange.method !== "POST" || exchange.sessionId !== undefined) return true;
    const { body } = exchange;
    if (body === undefined) return false;
    const named = version === undefined ? {} : { protocolVersionHeader: version };
    return classifyInboundRequest({ httpMethod: "POST", ...named, body }).kind === "legacy";
  }

  async #openSession(exchange: Exchange): Promise<void> {
    const { sessionSlots } = this.#dependencies;
    let slot: SessionSlot;
    try {
      slot = sessionSlots.acquire(this.principal.id);
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      rpcError(exchange, error.kind.status, -32000, error.message);
      return;
    }
    const subscriptions = new Subscriptions(this.#view);
    const session = await Session.open(
      agentServer(this.#view, subscriptions),
      subscriptions,
      this.#dependencies,
      (closed) => {
        subscriptions.close();
        this.#sessions.delete(closed.id);
        sessionSlots.release(slot);
      },
    );
    slot.session = session;
    this.#sessions.set(session.id, session);
    session.serve(exchange);
    if (!session.isOpen) session.close();
  }
}

function watchedUris(body: unknown): string[] {
  if (!isObject(body) || body["method"] !== "subscriptions/listen" || !isObject(body["params"])) return [];
  const { notifications } = body["params"];
  const uris = isObject(notifications) ? notifications["resourceSubscriptions"] : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}

/** The same request, reduced to the resources for which `has` returns true. */
function watchingOnly(body: unknown, has: (uri: string) => boolean): unknown {
  if (!isObject(body) || !isObject(body["params"]) || !isObject(body["params"]["notifications"])) return body;
  const { notifications } = body["params"];
  const resourceSubscriptions = watchedUris(body).filter(has);
  return {
    ...body,
    params: { ...body["params"], notifications: { ...notifications, resourceSubscriptions } },
  };
}
