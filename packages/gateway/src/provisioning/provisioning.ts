/**
 * Provisioning and admission: the four admission policies, activation codes, challenges, imports, credentials, and the
 * decisions of people [OTA-2, OTA-5…8, PRV-1…6]. A board is a pair of Device-Id and Client-Id. The state of the pair and
 * the policy decide what the board gets. A Device-Id that another board has, or that was revoked, gets only a code,
 * whatever the policy, because any client can claim any Device-Id. `ota.ts` is the HTTP side.
 */
import type { IncomingMessage } from "node:http";
import { limits } from "@tendon/protocol";
import type { FastifyInstance } from "fastify";
import { sourceOf, Throttle } from "../access/access.ts";
import { peerAddress } from "../addresses.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Events } from "../events/events.ts";
import type { DeviceAdmin } from "../fleet/fleet.ts";

import type { Store } from "../store/store.ts";
import { Provisioning } from "./board-provisioning.ts";
import { CredentialRefresh } from "./credential-refresh.ts";
import { Credentials, type DeviceCredentials } from "./credentials.ts";
import { type OtaDependencies, type OtaSettings, type OtaUpstream, otaRoutes } from "./ota.ts";

export type { Provisioning } from "./board-provisioning.ts";
export { Credentials, type DeviceCredentials } from "./credentials.ts";
export { deviceSecretOf } from "./device-secret.ts";
export { deviceSettings } from "./device-settings.ts";
export type {
  BoardReport,
  FirmwareOffer,
  OtaIdentity,
  OtaSettings,
  OtaUpstream,
  UpstreamActivation,
} from "./ota.ts";
export { SealedKeys } from "./sealed-keys.ts";
export { SeenClients } from "./seen-clients.ts";

export interface ProvisioningDependencies {
  readonly config: Config;
  /** The secret that credentials are derived from. */
  readonly secret: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly events: Events;
  readonly devices: DeviceAdmin;
  /** Ends the connections of a device. */
  readonly disconnect: (deviceId: string, reason: string) => void;
}

/** What all device transports need for a sign-in. */
export interface DeviceSignIn {
  readonly addressOf: (request: IncomingMessage) => string | undefined;
  readonly signInFailed: (from: string | undefined) => number;
  /** Reads the credentials of a device again before it is rejected; `undefined` if this node knows all of them. */
  readonly refreshCredentials: (deviceId: string) => Promise<void> | undefined;
}

export interface OpenedProvisioning {
  readonly credentials: Credentials;
  readonly provisioning: Provisioning;
  readonly refresh: CredentialRefresh;
  readonly signIn: DeviceSignIn;
  routes(
    http: FastifyInstance,
    settingsOf: (made: DeviceCredentials) => Required<OtaSettings>,
    firmwareFor: OtaDependencies["firmwareFor"],
    upstream: OtaUpstream | undefined,
  ): Promise<void>;
}

const signInIntervalMs = 1_000;

export function openProvisioning(dependencies: ProvisioningDependencies): OpenedProvisioning {
  const { config, secret, store, clock, events, devices, disconnect } = dependencies;
  const { admission } = config.devices;
  const credentials = new Credentials({
    admission,
    secret,
    clock,
    known: devices.pairs(),
    remember: (deviceId, pair) => devices.pairChanged(deviceId, pair),
    pin: (deviceId, pair) => devices.pairPinned(deviceId, pair),
  });
  const refresh = new CredentialRefresh(clock);
  const refreshCredentials = (deviceId: string) => refresh.refresh(deviceId);
  const signIns = new Throttle(clock, { burst: limits.failedSignIns.max, everyMs: signInIntervalMs });
  const provisioning = new Provisioning({
    admission,
    secret,
    store,
    clock,
    events,
    signIns,
    credentials,
    devices,
    disconnect,
    refreshCredentials,
  });
  return {
    credentials,
    refresh,
    provisioning,
    signIn: {
      addressOf: (request) => peerAddress(request, config.http.trustProxy),
      signInFailed: (from) => signIns.count(sourceOf(from)),
      refreshCredentials,
    },
    routes: (http, settingsOf, firmwareFor, upstream) =>
      otaRoutes(http, {
        clock,
        events,
        async enter(ask) {
          const entry = await provisioning.enter(ask);
          if (entry.kind !== "approved") return entry;
          const { mqtt, websocket } = settingsOf(entry.credentials);
          const transport = devices.find(ask.deviceId)?.transportSetting ?? config.devices.transport;
          return { kind: "settings", settings: transport === "mqtt" ? { mqtt } : { websocket } };
        },
        activate: (ask, proof) => provisioning.activate(ask, proof),
        firmwareFor,
        upstream,
      }),
  };
}
