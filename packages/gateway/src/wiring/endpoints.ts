/** Opens the MCP endpoints of voice agents. */
import type { Authentication, Principal, Tokens } from "../access/access.ts";
import { Endpoints, type Services } from "../agent/agent.ts";
import type { Config } from "../config/config.ts";
import { EndpointSession, type FrameLog } from "../device/device.ts";
import type { OpenedProvisioning } from "../provisioning/provisioning.ts";
import { HeldLeases } from "../store/store.ts";
import type { Foundation } from "./foundation.ts";
import { ProviderNames } from "./provider-names.ts";

export interface EndpointsWiring {
  readonly config: Config;
  readonly foundation: Foundation;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly authentication: Authentication;
  readonly provisioning: Pick<OpenedProvisioning, "signIn">;
  readonly frames: FrameLog;
}

type Dependencies = ConstructorParameters<typeof Endpoints>[0];

export function openEndpoints(wiring: EndpointsWiring, hub: Dependencies["hub"]): Endpoints {
  const { config, foundation, services, tokens, authentication } = wiring;
  const { fleet } = services;
  const { clock, events, endpointEvents, store } = foundation;
  const cluster = foundation.cluster?.cluster;
  const isFree = (id: string) => fleet.devices.get(fleet.idOf(id)) === undefined;
  const names = new ProviderNames(store.settings, isFree);
  return new Endpoints({
    clock: foundation.clock,
    random: Math.random,
    node: foundation.node,
    tokens,
    events: foundation.endpointEvents,
    hub,
    spend: (principal) => authentication.spend(principal),
    deviceOfSerial: async (principal, serial) => {
      // Without the database, boards are known by their ids and aliases only.
      const imported = () => store.imports.deviceWith(serial).catch(() => undefined);
      const id = fleet.devices.get(fleet.idOf(serial))?.id ?? (await imported());
      return id !== undefined && fleet.visible(principal, id) ? id : undefined;
    },
    selectionOf: (principal, view) => selectionOf(services, principal, view),
    settings: config.agents.endpoints,
    endpoint: config.endpoint,
    authentication,
    addressOf: wiring.provisioning.signIn.addressOf,
    withProviders: (principal) => names.withProviders(principal),
    openProvider: (socket, token) =>
      new EndpointSession(socket, {
        clock,
        events,
        owner: fleet.connections,
        queueLimit: config.calls.queue,
        random: Math.random,
        frames: wiring.frames,
        ignored: () => endpointEvents.ignored("provider"),
        deviceFor: (serverName) => names.deviceFor(token, serverName),
      }),
    secret: foundation.deviceSecret,
    leases: new HeldLeases(
      store.leases("endpoint_lease:"),
      foundation.run,
      cluster && ((other) => cluster.members.isAlive(other)),
    ),
    cluster,
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
