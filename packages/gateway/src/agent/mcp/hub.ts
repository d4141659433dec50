/**
 * All MCP clients: one endpoint for each token and address, with its sessions and streams. Unused endpoints are dropped
 * after a while and made again when needed.
 */

import { randomUUID } from "node:crypto";
import type { Transport } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";
import { type Principal, SharedPool, type Tokens } from "../../access/access.ts";
import type { Timer } from "../../clock.ts";
import type { VoiceAgent } from "./agent-view.ts";
import { BackgroundCalls } from "./background-calls.ts";
import { ChangeNotifier } from "./change-notifier.ts";
import { Endpoint, type EndpointDependencies } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { RequestStates } from "./request-state.ts";
import { SessionSlots } from "./session-slots.ts";
import { TaskIds } from "./task-ids.ts";
import { selectionKey, type ViewSelection } from "./view-selection.ts";

export interface HubDependencies
  extends Omit<EndpointDependencies, "sessionSlots" | "waits" | "states" | "tasks"> {
  readonly tokens: Pick<Tokens, "current">;
  /** Signs the state of a call between two rounds, and task ids; the same on every node. */
  readonly stateKey: Buffer;
}

const sweepMs = 60_000;
const keepAliveMs = 15_000;

export class Hub {
  readonly #dependencies: EndpointDependencies & HubDependencies;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #timers: readonly Timer[];
  readonly #notifier: ChangeNotifier;
  readonly #unsubscribe: (() => void)[];

  constructor(dependencies: HubDependencies) {
    this.#dependencies = {
      ...dependencies,
      sessionSlots: new SessionSlots(),
      waits: new SharedPool(limits.eventWaits.max, "agents that wait for events"),
      states: new RequestStates(dependencies.clock, dependencies.stateKey, dependencies.services.approvals),
      tasks: { ids: new TaskIds(dependencies.stateKey), background: new BackgroundCalls(dependencies.clock) },
    };
    this.#timers = [
      dependencies.clock.every(sweepMs, () => this.#sweep()),
      dependencies.clock.every(keepAliveMs, () => {
        for (const endpoint of this.#endpoints.values()) endpoint.keepAlive();
      }),
    ];
    this.#notifier = new ChangeNotifier(dependencies.clock, (changes) => {
      for (const endpoint of this.#endpoints.values()) endpoint.changed(changes);
    });
    this.#unsubscribe = [
      dependencies.services.toolset.onChange((devices) => {
        for (const endpoint of this.#endpoints.values()) endpoint.toolsChanged(devices);
      }),
      dependencies.events.subscribe((event) => {
        if (this.#endpoints.size > 0) this.#notifier.add(event);
      }),
    ];
  }

  async serve(principal: Principal, selection: ViewSelection, exchange: Exchange): Promise<void> {
    await this.#endpointOf(principal, selection).serve(exchange);
  }

  /** Serves a voice agent on a connection of its own. It ends with the token. */
  async attach(
    principal: Principal,
    selection: ViewSelection,
    transport: Transport,
    voice: VoiceAgent,
  ): Promise<void> {
    const key = `socket ${randomUUID()}`;
    const endpoint = new Endpoint(this.#dependencies, principal, selection, voice);
    this.#endpoints.set(key, endpoint);
    await endpoint.attach(transport, () => this.#endpoints.delete(key));
  }

  /** Closes the connections of a revoked token [TOK-4]. */
  revoked(tokenId: string): void {
    for (const [key, endpoint] of this.#endpoints) {
      if (endpoint.principal.id !== tokenId) continue;
      this.#endpoints.delete(key);
      void endpoint.close();
    }
  }

  async stop(): Promise<void> {
    for (const stop of this.#unsubscribe) stop();
    this.#notifier.stop();
    for (const timer of this.#timers) timer.cancel();
    const endpoints = [...this.#endpoints.values()];
    this.#endpoints.clear();
    await Promise.all(endpoints.map((endpoint) => endpoint.close()));
  }

  #endpointOf(principal: Principal, selection: ViewSelection): Endpoint {
    const key = `${principal.id}\u0000${selectionKey(selection)}`;
    const known = this.#endpoints.get(key);
    if (known?.principal === principal) return known;
    void known?.close();
    const made = new Endpoint(this.#dependencies, principal, selection);
    this.#endpoints.set(key, made);
    return made;
  }

  #sweep(): void {
    for (const [key, endpoint] of this.#endpoints) {
      const expired = this.#dependencies.tokens.current(endpoint.principal.id) === undefined;
      if (expired) void endpoint.close();
      if (expired || endpoint.sweep() === "unused") this.#endpoints.delete(key);
    }
  }
}
