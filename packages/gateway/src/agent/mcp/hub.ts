/**
 * Whoever is connected: one endpoint for each token and address it uses, with its sessions and streams. Endpoints that
 * nobody has used for a while are dropped; they hold nothing that cannot be made again.
 */

import type { Principal, Tokens } from "../../access/access.ts";
import type { Timer } from "../../clock.ts";
import { ChangeNotifier } from "./change-notifier.ts";
import { Endpoint, type EndpointNeeds } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { RequestStates } from "./request-state.ts";
import { SessionPlaces } from "./session-places.ts";
import { type Surface, surfaceKey } from "./surface.ts";

export interface HubNeeds extends Omit<EndpointNeeds, "sessionPlaces" | "waits" | "states"> {
  readonly tokens: Pick<Tokens, "current">;
  /** What the states of calls in rounds are signed with; every node has the same. */
  readonly stateKey: Buffer;
}

const sweepMs = 60_000;
const keepAliveMs = 15_000;

export class Hub {
  readonly #needs: EndpointNeeds & HubNeeds;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #timers: readonly Timer[];
  readonly #notifier: ChangeNotifier;
  readonly #unlisten: (() => void)[];

  constructor(needs: HubNeeds) {
    this.#needs = {
      ...needs,
      sessionPlaces: new SessionPlaces(),
      waits: { count: 0 },
      states: new RequestStates(needs.clock, needs.stateKey, needs.services.approvals),
    };
    this.#timers = [
      needs.clock.every(sweepMs, () => this.#sweep()),
      needs.clock.every(keepAliveMs, () => {
        for (const endpoint of this.#endpoints.values()) endpoint.keepAlive();
      }),
    ];
    this.#notifier = new ChangeNotifier(needs.clock, (changes) => {
      for (const endpoint of this.#endpoints.values()) endpoint.changed(changes);
    });
    this.#unlisten = [
      needs.services.toolset.onChange((devices) => {
        for (const endpoint of this.#endpoints.values()) endpoint.toolsChanged(devices);
      }),
      needs.events.subscribe((event) => {
        if (this.#endpoints.size > 0) this.#notifier.happened(event);
      }),
    ];
  }

  async serve(principal: Principal, surface: Surface, exchange: Exchange): Promise<void> {
    await this.#endpointOf(principal, surface).serve(exchange);
  }

  /** What a revoked token has open is closed [TOK-4]. */
  revoked(tokenId: string): void {
    for (const [key, endpoint] of this.#endpoints) {
      if (endpoint.principal.id !== tokenId) continue;
      this.#endpoints.delete(key);
      void endpoint.close();
    }
  }

  async stop(): Promise<void> {
    for (const stop of this.#unlisten) stop();
    this.#notifier.stop();
    for (const timer of this.#timers) timer.cancel();
    const endpoints = [...this.#endpoints.values()];
    this.#endpoints.clear();
    await Promise.all(endpoints.map((endpoint) => endpoint.close()));
  }

  #endpointOf(principal: Principal, surface: Surface): Endpoint {
    const key = `${principal.id}\u0000${surfaceKey(surface)}`;
    const known = this.#endpoints.get(key);
    if (known?.principal === principal) return known;
    void known?.close();
    const made = new Endpoint(this.#needs, principal, surface);
    this.#endpoints.set(key, made);
    return made;
  }

  #sweep(): void {
    for (const [key, endpoint] of this.#endpoints) {
      const expired = this.#needs.tokens.current(endpoint.principal.id) === undefined;
      if (expired) void endpoint.close();
      if (expired || endpoint.sweep() === "unused") this.#endpoints.delete(key);
    }
  }
}
