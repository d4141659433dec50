/** Every door on the HTTP port, each given the rooms it leads to: REST, MCP, the console, OTA, and what upgrades. */

import type { Tokens } from "../access/access.ts";
import type { Addresses } from "../addresses.ts";
import {
  type Console,
  docsRoutes,
  type Http,
  type IdentifyToken,
  mcpRoutes,
  operationRoutes,
  type Rates,
  restRoutes,
  type Services,
} from "../agent/agent.ts";
import { CloseGrace, type FrameLog, type OtaSettings, type WebSocketDevices } from "../device/device.ts";
import type { DeviceCredentials } from "../provisioning/provisioning.ts";
import { openConsole } from "./console-link.ts";
import type { FirmwareLink } from "./firmware-link.ts";
import type { Foundation } from "./foundation.ts";
import type { MqttCarrier } from "./mqtt-carrier.ts";
import { nodeList } from "./node-list.ts";
import type { ProvisioningLink } from "./provisioning-link.ts";
import { unreadyParts } from "./readiness.ts";
import { talksEverywhere } from "./talks-everywhere.ts";
import type { VisionLink } from "./vision-link.ts";
import type { VoiceLink } from "./voice-link.ts";

export interface DoorNeeds {
  readonly foundation: Foundation;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly rates: Rates;
  readonly identify: IdentifyToken;
  readonly vision: VisionLink;
  readonly firmware: FirmwareLink;
  readonly voice: VoiceLink | undefined;
  readonly entrance: ProvisioningLink;
  readonly devices: WebSocketDevices;
  readonly mqtt: MqttCarrier;
  readonly frames: FrameLog;
  readonly addresses: () => Addresses;
  readonly listening: { readonly host: string; readonly publicUrl?: string };
  readonly settingsOf: (made: DeviceCredentials) => Required<OtaSettings>;
  readonly startDemoDevice: (() => Promise<string>) | undefined;
  readonly reportFault: (error: unknown) => void;
  readonly isStopping: () => boolean;
}

const devicePaths = new Set(["/xiaozhi/v1/", "/xiaozhi/v1"]);
const mqttPaths = new Set(["/mqtt", "/mqtt/"]);

export async function openDoors(http: Http, needs: DoorNeeds): Promise<Console> {
  const { foundation, services, tokens, rates, identify, entrance, firmware, voice, mqtt } = needs;
  const { clock, metrics, events, store, cluster, node, nodeId, mark: idMark, stateKey } = foundation;
  operationRoutes(http, {
    metrics,
    events,
    identify,
    unready: () => unreadyParts({ clock, store, mqtt, cluster, stopping: needs.isStopping() }),
  });
  docsRoutes(http);
  const console = await openConsole(http, {
    clock,
    events,
    store,
    services,
    tokens,
    identify,
    spend: (principal) => rates.spend(principal),
    frames: needs.frames,
    addresses: needs.addresses,
    listening: needs.listening,
    voice: voice !== undefined,
    startDemoDevice: needs.startDemoDevice,
  });
  await http.register(async (boards) => {
    new CloseGrace(clock).applyTo(boards);
    await entrance.routes(boards, needs.settingsOf, firmware.offer, voice?.ota);
    await firmware.routes(boards);
    await needs.vision.routes(boards);
  });
  const startedAt = clock.now();
  await restRoutes(http, {
    clock,
    services,
    provisioning: entrance.provisioning,
    tokens,
    library: firmware.library,
    events,
    console,
    settingsOf: needs.settingsOf,
    voice: talksEverywhere(cluster?.cluster, voice?.relay),
    nodes: () => nodeList({ cluster: cluster?.cluster, store, services, node, nodeId, startedAt }),
  });
  const { reportFault } = needs;
  await mcpRoutes(http, { services, tokens, events, clock, identify, idMark, stateKey, reportFault });
  http.server.on("upgrade", (request, socket, head) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (devicePaths.has(path)) needs.devices.upgrade(request, socket, head);
    else if (mqttPaths.has(path) && !needs.isStopping() && mqtt.upgrade(request, socket, head)) return;
    else socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  return console;
}
