/** How devices come in, wired: credentials, codes and the list in the middle, the OTA address and the doors outside. */
import type { IncomingMessage } from "node:http";
import { limits } from "@tendon/protocol";
import type { FastifyInstance } from "fastify";
import { sourceOf, Throttle } from "../access/access.ts";
import { peerAddress } from "../addresses.ts";
import type { Services } from "../agent/agent.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import {
  type Liveness,
  type OtaNeeds,
  type OtaSettings,
  type OtaUpstream,
  otaRoutes,
} from "../device/device.ts";
import type { Events } from "../events/events.ts";
import { Credentials, type DeviceCredentials, Provisioning } from "../provisioning/provisioning.ts";
import type { Store } from "../store/store.ts";

export interface ProvisioningLinkNeeds {
  readonly config: Config;
  /** What credentials follow from. */
  readonly secret: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly events: Events;
  readonly services: Services;
  readonly liveness: Liveness;
}

/** What every door for devices has in common. */
export interface Doors {
  readonly addressOf: (request: IncomingMessage) => string | undefined;
  readonly signInFailed: (from: string | undefined) => number;
}

export interface ProvisioningLink {
  readonly credentials: Credentials;
  readonly provisioning: Provisioning;
  readonly doors: Doors;
  routes(
    http: FastifyInstance,
    settingsOf: (made: DeviceCredentials) => Required<OtaSettings>,
    firmwareFor: OtaNeeds["firmwareFor"],
    upstream: OtaUpstream | undefined,
  ): Promise<void>;
}

const anotherSignInMs = 1_000;

export function openProvisioning(needs: ProvisioningLinkNeeds): ProvisioningLink {
  const { config, secret, store, clock, events, services, liveness } = needs;
  const { admission } = config.devices;
  const credentials = new Credentials({
    admission,
    secret,
    clock,
    known: services.fleet.admin.pairs(),
    remember: (deviceId, pair) => services.fleet.admin.pairChanged(deviceId, pair),
  });
  const signIns = new Throttle(clock, { burst: limits.failedSignIns.max, everyMs: anotherSignInMs });
  const provisioning = new Provisioning({
    admission,
    secret,
    store,
    clock,
    events,
    signIns,
    credentials,
    devices: services.fleet.admin,
    cut: (deviceId, reason) => liveness.cut(deviceId, reason),
  });
  return {
    credentials,
    provisioning,
    doors: {
      addressOf: (request) => peerAddress(request, config.http.trustProxy),
      signInFailed: (from) => signIns.count(sourceOf(from)),
    },
    routes: (http, settingsOf, firmwareFor, upstream) =>
      otaRoutes(http, {
        clock,
        events,
        async enter(ask) {
          const entry = await provisioning.enter(ask);
          if (entry.kind !== "approved") return entry;
          const { mqtt, websocket } = settingsOf(entry.credentials);
          const transport =
            services.fleet.admin.find(ask.deviceId)?.transportSetting ?? config.devices.transport;
          return { kind: "settings", settings: transport === "mqtt" ? { mqtt } : { websocket } };
        },
        activate: (ask, proof) => provisioning.activate(ask, proof),
        firmwareFor,
        upstream,
      }),
  };
}
