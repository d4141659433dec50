import type { Logger } from "pino";
import { Counter, Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** What happens at MCP endpoints of voice agents, as log lines and metrics. Addresses and tokens are in neither. */
export class EndpointEvents {
  readonly #log: Logger;
  readonly #states = new Map<string, string>();
  readonly #outgoing: Gauge<"state">;
  readonly #ignored: Counter<"side">;
  readonly #connected: Gauge<"side">;

  constructor(log: Logger, { registry }: Metrics) {
    this.#log = log;
    this.#outgoing = new Gauge({
      name: "tendon_endpoints",
      help: "Outgoing endpoints of voice agents that this node holds, by state: waiting_for_token, connecting, connected, retrying, replaced",
      labelNames: ["state"] as const,
      registers: [registry],
    });
    this.#ignored = new Counter({
      name: "tendon_endpoint_frames_ignored_total",
      help: "Frames at MCP endpoints that are not JSON-RPC, by side: agent or provider",
      labelNames: ["side"] as const,
      registers: [registry],
    });
    this.#connected = new Gauge({
      name: "tendon_endpoint_connections",
      help: "Connections to this node's own MCP endpoint, by side: agent or provider",
      labelNames: ["side"] as const,
      registers: [registry],
    });
  }

  /** `undefined`: this node no longer holds the endpoint. */
  outgoing(id: string, endpoint: string, state: string | undefined, detail: string | undefined): void {
    const before = this.#states.get(id);
    if (state === undefined) this.#states.delete(id);
    else this.#states.set(id, state);
    this.#outgoing.reset();
    for (const each of this.#states.values()) this.#outgoing.inc({ state: each });
    if (state === undefined || state === before) return;
    const level =
      state === "retrying" || state === "replaced" || state === "waiting_for_token" ? "warn" : "info";
    this.#log[level]({ endpoint, state, ...(detail === undefined ? {} : { detail }) }, "voice agent");
  }

  ignored(side: "agent" | "provider"): void {
    this.#ignored.inc({ side });
  }

  connections(side: "agent" | "provider", by: 1 | -1): void {
    this.#connected.inc({ side }, by);
  }

  refused(from: string | undefined, code: string): void {
    this.#log.warn({ from, code }, "a connection to the MCP endpoint was refused");
  }
}
