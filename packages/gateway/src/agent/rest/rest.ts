/** REST under /api/v1: the services as HTTP routes, with errors as problem documents. */
import {
  type HomeAssistantView,
  NodeBalanceList,
  NodeList,
  type Provisioned,
  SettingList,
  type SettingView,
} from "@tendon/protocol";
import { requireEveryDevice, requireScope, type Tokens } from "../../access/access.ts";
import type { Audit } from "../../audit/audit.ts";
import type { ErasedDevice } from "../../calls/calls.ts";
import type { Clock } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import type { Firmware } from "../../firmware/firmware.ts";
import type { HttpDevices } from "../../http-devices/http-devices.ts";
import { named } from "../../named-routes.ts";
import type { DeviceCredentials, Provisioning } from "../../provisioning/provisioning.ts";
import type { Console } from "../console/console.ts";
import type { Endpoints } from "../endpoint/endpoint.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { approvalRoutes } from "./approvals.ts";
import { auditRoutes } from "./audit.ts";
import { callRoutes } from "./calls.ts";
import { controlRoutes } from "./control.ts";
import { deviceRoutes } from "./devices.ts";
import { endpointRoutes } from "./endpoints.ts";
import { eventRoutes } from "./events.ts";
import { firmwareRoutes } from "./firmware.ts";
import { fleetRoutes } from "./fleet.ts";
import { functionRoutes } from "./functions.ts";
import { homeAssistantRoutes } from "./home-assistant.ts";
import { httpDeviceRoutes } from "./http-devices.ts";
import { provisioningRoutes } from "./provisioning.ts";
import { rpcRoutes } from "./rpc.ts";
import { tokenRoutes } from "./tokens.ts";
import { toolChangeRoutes } from "./tool-changes.ts";
import { type VoiceSessions, voiceRoutes } from "./voice.ts";
import { webhookRoutes } from "./webhooks.ts";

export { nodeList } from "./node-list.ts";

export interface RestDependencies {
  readonly clock: Clock;
  readonly services: Services;
  readonly provisioning: Provisioning;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly webhooks: Webhooks;
  readonly endpoints: Pick<Endpoints, "list">;
  readonly httpDevices: HttpDevices;
  readonly settings: readonly SettingView[];
  /** Deletes what is kept about a device that was deleted: its calls, events, photos, frames and stored answers. */
  readonly eraseHistory: (erased: ErasedDevice) => Promise<void>;
  readonly library: Firmware["library"];
  readonly events: Events;
  readonly console: Console;
  readonly homeAssistant: () => HomeAssistantView;
  readonly voice: VoiceSessions;
  readonly nodes: () => NodeList;
  /** Evens out the devices of the nodes; resolves when the nodes have begun. */
  readonly balanceNodes: () => Promise<NodeBalanceList["nodes"]>;
  /** The connection settings for a device with these credentials. */
  readonly settingsOf: (credentials: DeviceCredentials) => Omit<Provisioned, "id">;
}

export async function restRoutes(http: Http, dependencies: RestDependencies): Promise<void> {
  const register = named("rest", async (api: unknown) => {
    const routes = api as Http;
    routes.addHook("onRequest", (request, _reply, next) => {
      request.principal = dependencies.console.authentication.byTokenOrSession(request);
      next();
    });
    deviceRoutes(routes, dependencies);
    httpDeviceRoutes(routes, dependencies);
    provisioningRoutes(routes, dependencies);
    callRoutes(routes, dependencies.services);
    controlRoutes(routes, dependencies.services);
    fleetRoutes(routes, dependencies.services);
    functionRoutes(routes, dependencies);
    toolChangeRoutes(routes, dependencies);
    rpcRoutes(routes, dependencies.services);
    approvalRoutes(routes, dependencies);
    eventRoutes(routes, dependencies);
    tokenRoutes(routes, dependencies);
    auditRoutes(routes, dependencies.audit);
    webhookRoutes(routes, dependencies);
    homeAssistantRoutes(routes, dependencies.homeAssistant);
    endpointRoutes(routes, dependencies);
    voiceRoutes(routes, dependencies.services, dependencies.voice);
    nodeRoutes(routes, dependencies);
    settingRoutes(routes, dependencies.settings);
    dependencies.console.routes(routes);
    await firmwareRoutes(routes, dependencies);
  });
  await http.register(register, { prefix: "/api/v1" });
}

function nodeRoutes(
  http: Http,
  { nodes, balanceNodes }: Pick<RestDependencies, "nodes" | "balanceNodes">,
): void {
  http.get(
    "/nodes",
    {
      schema: {
        operationId: "listNodes",
        summary: "The nodes of this gateway, and the state of storage and NATS",
        description: "Needs `read` for all devices.",
        tags: ["operations"],
        response: { 200: NodeList, ...failures },
      },
    },
    (request) => {
      requireScope(request.principal, "read");
      requireEveryDevice(request.principal, "the list of nodes");
      return nodes();
    },
  );
  http.post(
    "/nodes/balance",
    {
      schema: {
        operationId: "balanceNodes",
        summary: "Even out the devices of the nodes",
        description:
          "Needs `admin`. Nodes with more than their share disconnect the excess in small groups, and the load balancer gives these boards to the other nodes. The answer says what begins; `GET /nodes` shows the progress.",
        tags: ["operations"],
        response: { 202: NodeBalanceList, ...failures },
      },
    },
    async (request, reply) => {
      requireScope(request.principal, "admin");
      requireEveryDevice(request.principal, "the nodes");
      reply.code(202);
      return { nodes: [...(await balanceNodes())] };
    },
  );
}

function settingRoutes(http: Http, settings: readonly SettingView[]): void {
  http.get(
    "/settings",
    {
      schema: {
        operationId: "listSettings",
        summary: "The settings of this gateway, with secrets hidden, and where each comes from",
        description:
          "Needs `admin`. They are read at the start; change them in tendon.yaml or the environment.",
        tags: ["operations"],
        response: { 200: SettingList, ...failures },
      },
    },
    (request) => {
      requireScope(request.principal, "admin");
      requireEveryDevice(request.principal, "the list of settings");
      return { settings: [...settings] };
    },
  );
}
