/** Every route on the HTTP port: REST, MCP, the console, OTA, downloads, photo uploads, and WebSocket upgrades. */
import type { HomeAssistantView, SettingView } from "@tendon/protocol";
import type { FastifyInstance } from "fastify";
import type { Authentication, Tokens } from "../access/access.ts";
import type { Addresses } from "../addresses.ts";
import {
  type Console,
  docsRoutes,
  type Endpoints,
  type Http,
  mcpRoutes,
  nodeList,
  operationRoutes,
  restRoutes,
  type Services,
  unreadyParts,
  type Webhooks,
} from "../agent/agent.ts";
import type { Audit } from "../audit/audit.ts";
import type { ErasedDevice } from "../calls/calls.ts";
import type { Config } from "../config/config.ts";
import { CloseGrace, type FrameLog, type WebSocketDevices } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { OpenedFirmware } from "../firmware/firmware.ts";
import type { HttpDevices } from "../http-devices/http-devices.ts";
import { named } from "../named-routes.ts";
import { refuseOnSocket } from "../problem-document.ts";
import type { DeviceCredentials, OpenedProvisioning, OtaSettings } from "../provisioning/provisioning.ts";
import type { OpenedVision } from "../vision/vision.ts";
import { clusterVoiceSessions, type OpenedVoice } from "../voice/voice.ts";
import { openConsole } from "./console.ts";
import { openEndpoints } from "./endpoints.ts";
import type { Foundation } from "./foundation.ts";
import type { MqttTransport } from "./mqtt.ts";

export interface RouteDependencies {
  readonly config: Config;
  readonly foundation: Foundation;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly webhooks: Webhooks;
  readonly httpDevices: HttpDevices;
  readonly vision: OpenedVision;
  readonly firmware: OpenedFirmware;
  readonly voice: OpenedVoice | undefined;
  readonly provisioning: OpenedProvisioning;
  readonly devices: WebSocketDevices;
  readonly mqtt: MqttTransport;
  readonly frames: FrameLog;
  readonly addresses: () => Addresses;
  readonly listening: { readonly host: string; readonly publicUrl?: string };
  readonly settingsOf: (made: DeviceCredentials) => Required<OtaSettings>;
  readonly settings: readonly SettingView[];
  readonly command: string;
  readonly homeAssistant: () => HomeAssistantView;
  readonly eraseHistory: (erased: ErasedDevice) => Promise<void>;
  readonly startDemoDevice: (() => Promise<string>) | undefined;
  readonly reportFault: (error: unknown) => void;
  readonly shutdown: () => { readonly stopping: boolean; readonly rejecting: boolean };
}

export interface OpenedRoutes {
  readonly console: Console;
  readonly endpoints: Endpoints;
}

const devicePaths = new Set(["/xiaozhi/v1/", "/xiaozhi/v1"]);
const mqttPaths = new Set(["/mqtt", "/mqtt/"]);

export async function openRoutes(http: Http, dependencies: RouteDependencies): Promise<OpenedRoutes> {
  const { foundation, services, tokens, authentication, provisioning, firmware, voice, mqtt } = dependencies;
  const { clock, metrics, events, store, cluster, certificate, node, nodeId, idPrefix, stateKey } =
    foundation;
  docsRoutes(http, dependencies.listening.publicUrl);
  const { audit } = dependencies;
  const console = await openConsole(http, {
    clock,
    events,
    store,
    services,
    tokens,
    authentication,
    audit,
    frames: dependencies.frames,
    cluster: cluster?.cluster,
    addresses: dependencies.addresses,
    listening: dependencies.listening,
    voice: voice !== undefined,
    startDemoDevice: dependencies.startDemoDevice,
    command: dependencies.command,
  });
  operationRoutes(http, {
    metrics,
    events,
    authentication: console.authentication,
    warnings: () =>
      attentionOf({
        certificate: certificate?.warning(),
        clock: cluster?.health.warning(),
        endpoints: endpoints.warning(),
      }),
    measure(metrics) {
      const sessions = services.fleet.sessions();
      metrics.devicesOnline.set(sessions.length);
      metrics.devicesOnlineByKind.reset();
      for (const { kind } of sessions) metrics.devicesOnlineByKind.inc({ kind });
      metrics.certificateExpiry.set((certificate?.expiresAt ?? 0) / 1_000);
      cluster?.health.measure(metrics);
    },
    unready: () => unreadyParts({ clock, store, mqtt, cluster, stopping: dependencies.shutdown().stopping }),
  });
  const register = async (boards: FastifyInstance) => {
    new CloseGrace(clock).applyTo(boards);
    await provisioning.routes(boards, dependencies.settingsOf, firmware.offer, voice?.ota);
    firmware.routes(boards);
    await dependencies.vision.routes(boards);
  };
  await http.register(named("boards", register));
  const hub = await mcpRoutes(http, {
    authentication: console.authentication,
    services,
    tokens,
    events,
    clock,
    idPrefix,
    stateKey,
    reportFault: dependencies.reportFault,
  });
  const endpoints = openEndpoints(dependencies, hub);
  endpoints.routes(http);
  const startedAt = clock.now();
  await restRoutes(http, {
    clock,
    services,
    provisioning: provisioning.provisioning,
    tokens,
    audit,
    webhooks: dependencies.webhooks,
    endpoints,
    httpDevices: dependencies.httpDevices,
    settings: dependencies.settings,
    eraseHistory: dependencies.eraseHistory,
    homeAssistant: dependencies.homeAssistant,
    library: firmware.library,
    events,
    console,
    settingsOf: dependencies.settingsOf,
    voice: clusterVoiceSessions(cluster?.cluster, voice?.relay),
    balanceNodes: async () => (await cluster?.balance()) ?? [],
    nodes: () => nodeList({ cluster: cluster?.cluster, store, services, node, nodeId, startedAt }),
  });
  http.server.on("upgrade", (request, socket, head) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (devicePaths.has(path)) dependencies.devices.upgrade(request, socket, head);
    else if (endpoints.upgrade(request, socket, head)) return;
    else if (mqttPaths.has(path) && !dependencies.shutdown().rejecting && mqtt.upgrade(request, socket, head))
      return;
    else refuseOnSocket(socket, new TendonError("not_found", "there is no WebSocket at this address"));
  });
  return { console, endpoints };
}

/** The parts with a warning. */
function attentionOf(parts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parts).flatMap(([part, why]) => (why === undefined ? [] : [[part, why]])),
  );
}
