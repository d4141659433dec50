/** Opens the MCP endpoints of voice agents. */
import type { Authentication, Principal, Tokens } from "../access/access.ts";
import { Endpoints, type Services } from "../agent/agent.ts";
import type { Config } from "../config/config.ts";
import type { Foundation } from "./foundation.ts";

export interface EndpointsWiring {
  readonly config: Config;
  readonly foundation: Foundation;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly authentication: Authentication;
}

type Dependencies = ConstructorParameters<typeof Endpoints>[0];

export function openEndpoints(wiring: EndpointsWiring, hub: Dependencies["hub"]): Endpoints {
  const { config, foundation, services, tokens, authentication } = wiring;
  const { fleet } = services;
  return new Endpoints({
    clock: foundation.clock,
    random: Math.random,
    node: foundation.node,
    tokens,
    events: foundation.endpointEvents,
    hub,
    spend: (principal) => authentication.spend(principal),
    deviceOfSerial: (principal, serial) => fleet.deviceOfSerial(principal, serial),
    selectionOf: (principal, view) => selectionOf(services, principal, view),
    settings: config.agents.endpoints,
    enabled: config.endpoint.enabled,
    secret: foundation.deviceSecret,
    run: foundation.run,
    leases: foundation.store.settings,
    cluster: foundation.cluster?.cluster,
  });
}

function selectionOf(
  { fleet }: Services,
  principal: Principal,
  view: string,
): ReturnType<Dependencies["selectionOf"]> {
  if (view === "compact" || view === "flat") return { kind: view };
  const device = fleet.idOf(view.replace(/^device:/, ""));
  return fleet.visible(principal, device) ? { kind: "device", device } : undefined;
}
